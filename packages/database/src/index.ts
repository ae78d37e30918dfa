export { isDatabaseAway } from './database-away.js';
export { type ApplyOptions, applyMigrations } from './migrate/apply-migrations.js';
export { createMigration, type DiffOptions, diffMigrations } from './migrate/diff-migrations.js';
export { type Listener, type ListenOptions, listen } from './notifications.js';
export {
  connectPool,
  inTransaction,
  type Pool,
  type PoolOptions,
  type Queryable,
} from './pool.js';
export { connectPrisma, noJson, type Prisma, type Sql, sql, type Transaction } from './prisma.js';
export { type ProcessRegister, type ProcessRegisterOptions, registerProcess } from './process-register.js';
export { readClock, rowClock } from './row-clock.js';
export { lockChangesOfTeams, lockTeamChanges } from './team-change-lock.js';
export { isLockTimeout, isUniqueViolation } from './violations.js';
