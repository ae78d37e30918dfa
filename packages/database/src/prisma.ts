import { PrismaPg } from '@prisma/adapter-pg';
import { Prisma as Generated, PrismaClient } from './generated/client.js';
import type { Pool } from './pool.js';

export type Prisma = PrismaClient;
/** Writes no value at all into a column of JSON, where `null` would leave it open which of the two is meant. */
export const noJson = Generated.DbNull;
/** A part of a statement with the values in it, for `$queryRaw`. */
export const sql = Generated.sql;
export type Sql = Generated.Sql;
/** Prisma inside of a transaction. */
export type Transaction = Parameters<Parameters<Prisma['$transaction']>[0]>[0];

/** How long a transaction may wait to begin, and how long it may take. */
export interface TransactionBounds {
  readonly maxWait: number;
  readonly timeout: number;
}

/**
 * Prisma on the `pg` driver, for everything that is not hot. Connects on first use; close with `$disconnect()`.
 *
 * @param database its address, or a pool to share, which stays open and whose deadlines hold
 * @param transactions for those that have no bounds of their own; default: Prisma's, 2 s and 5 s
 */
export function connectPrisma(database: string | Pool, transactions?: TransactionBounds): Prisma {
  const source = typeof database === 'string' ? { connectionString: database } : database;
  return new PrismaClient({
    adapter: new PrismaPg(source),
    ...(transactions === undefined ? {} : { transactionOptions: transactions }),
  });
}
