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
