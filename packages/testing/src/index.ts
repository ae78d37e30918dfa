export { freePort } from './free-port.js';
export { databaseUrl } from './postgres/connection.js';
export { type PostgresOptions, type PostgresServer, startPostgres } from './postgres/start-postgres.js';
export { createEmptyDatabase, createTestDatabase, type TestDatabase } from './postgres/test-database.js';
export { endWithUs, type Leftovers } from './process/end-with-us.js';
export { type Ended, type ProcessSpec, type RunningProcess, startProcess } from './process/start-process.js';
export { isRedisInstalled, redisForTests, type TestRedis, WITHOUT_REDIS } from './redis-for-tests.js';
export { type WaitOptions, waitFor } from './wait-for.js';
