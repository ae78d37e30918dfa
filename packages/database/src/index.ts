export { isDatabaseAway } from './database-away.js';
export {
  findHold,
  type Hold,
  type HoldFinding,
  isHeld,
  isHeldIn,
  isHeldNow,
  rebuiltSinceBackup,
} from './hold/holds.js';
export { type ApplyOptions, applyMigrations } from './migrate/apply-migrations.js';
export { createMigration, type DiffOptions, diffMigrations } from './migrate/diff-migrations.js';
export { type Listener, type ListenOptions, listen } from './notifications.js';
export {
  connectPool,
  inTransaction,
  onConnection,
  type Pool,
  type PoolOptions,
  type Queryable,
} from './pool.js';
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
export { type ProcessRegister, type ProcessRegisterOptions, registerProcess } from './process-register.js';
export { type RetentionRule, retentionCount, retentionRules, retentionStatement } from './retention/retention-rules.js';
export { type SweepRetentionDeps, type Swept, sweepRetention } from './retention/sweep-retention.js';
export { type GrantOptions, grantServiceRights, roleOf } from './roles/grant-rights.js';
export { type DatabaseService, databaseServices, serviceRights } from './roles/service-rights.js';
export { lockChangesOfTeams, lockTeamChanges } from './team-locks.js';
export { isLockTimeout, isUniqueViolation } from './violations.js';
