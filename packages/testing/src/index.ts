export { describeFailure, writeLogs } from './failures/describe-failure.js';
export { explainFailures } from './failures/explain.js';
export { type FlakyProxy, startFlakyProxy } from './flaky-proxy.js';
export { freePort, isFree } from './free-port.js';
export { markdownTable } from './markdown-table.js';
export {
  describeEachNeeding,
  describeNeeding,
  type Missing,
  SKIP_NOTES_FILE,
  type SkipNote,
  showsLessWithout,
  unlessInstalled,
} from './needing.js';
export { type DatabaseDoor, databaseDoor } from './postgres/database-door.js';
export { deleteRows } from './postgres/delete-rows.js';
export { type PostgresServer, startPostgres } from './postgres/start-postgres.js';
export { type Standby, startStandby } from './postgres/start-standby.js';
export { migrateEmpty } from './postgres/template.js';
export {
  createEmptyDatabase,
  createTestDatabase,
  patientPool,
  patientTransactions,
  type TestDatabase,
} from './postgres/test-database.js';
export { endWithUs } from './process/end-with-us.js';
export { type Ended, type RunningProcess, startProcess } from './process/start-process.js';
export { chunked, type RawAnswer, type RawRequest, renderRequest, sendBytes, sendRaw } from './raw-http.js';
export { closedUrl, type RawServer, rawAnswer, startRawServer } from './raw-server.js';
export {
  isRedisInstalled,
  missingRedis,
  missingRedisServer,
  redisForTests,
  startRedisServer,
  type TestRedis,
} from './redis-for-tests.js';
export { waitFor } from './wait-for.js';
export { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.js';
