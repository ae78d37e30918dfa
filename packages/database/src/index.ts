export {
  connectPool,
  connectPrisma,
  connectReadingPrisma,
  inTransaction,
  noJson,
  onConnection,
  type Pool,
  type PoolOptions,
  type Prisma,
  prepareSession,
  type Queryable,
  readClock,
  rowClock,
  type Sql,
  sql,
  sqlText,
  type Transaction,
} from './connect.js';
export { findHold, type Hold, type HoldFinding, isHeld, isHeldNow, rebuiltSinceBackup } from './holds.js';
export { lockChangesOfTeams, lockRows, lockTeamChanges } from './locks.js';
export { applyMigrations } from './migrate/apply-migrations.js';
export { createMigration, diffMigrations } from './migrate/diff-migrations.js';
export { type Listener, type ListenOptions, listen } from './notifications.js';
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
export { isDatabaseAway, isLockTimeout, isUniqueViolation } from './statement-errors.js';
