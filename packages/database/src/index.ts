export { findHold, type Hold, type HoldFinding, isHeld, isHeldNow, rebuiltSinceBackup } from './holds.js';
export { lockChangesOfTeams, lockRows, lockTeamChanges } from './locks.js';
export { applyMigrations } from './migrate/apply-migrations.js';
export { createMigration, diffMigrations } from './migrate/diff-migrations.js';
export { type Listener, type ListenOptions, listen } from './notifications.js';
export { connectPool, inTransaction, onConnection, type Pool, type PoolOptions, type Queryable } from './pool.js';
export {
  connectPrisma,
  connectReadingPrisma,
  noJson,
  type Prisma,
  readClock,
  rowClock,
  type Sql,
  sql,
  sqlText,
  type Transaction,
} from './prisma.js';
export { type ProcessRegister, registerProcess } from './process-register.js';
export { type RetentionRule, retentionCount, retentionRules } from './retention/retention-rules.js';
export { type Swept, sweepRetention } from './retention/sweep-retention.js';
export { grantServiceRights, roleOf } from './roles/grant-rights.js';
export { type DatabaseService, databaseServices } from './roles/service-rights.js';
export {
  appliedMigrations,
  behindTransactionPooler,
  databaseCheck,
  missingMigration,
  startCheck,
} from './server-checks.js';
export { prepareSession } from './session-settings.js';
export { isDatabaseAway, isLockTimeout, isUniqueViolation } from './statement-errors.js';
