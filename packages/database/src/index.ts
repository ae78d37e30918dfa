export { type ApplyOptions, applyMigrations } from './migrate/apply-migrations.js';
export { createMigration, type DiffOptions, diffMigrations } from './migrate/diff-migrations.js';
export { type Listener, type ListenOptions, listen } from './notifications.js';
export {
  connectPool,
  inTransaction,
  isDatabaseAway,
  type Pool,
  type PoolOptions,
  type Queryable,
} from './pool.js';
export { connectPrisma, type Prisma } from './prisma.js';
