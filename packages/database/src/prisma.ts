import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.js';

export type Prisma = PrismaClient;

/** Prisma on the `pg` driver, for everything that is not hot. Connects on first use; close with `$disconnect()`. */
export function connectPrisma(databaseUrl: string): Prisma {
  return new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl }) });
}
