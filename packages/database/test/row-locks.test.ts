import { createEmptyDatabase, patientPool, patientTransactions, type TestDatabase } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  connectPool,
  connectPrisma,
  inTransaction,
  lockRows,
  type Pool,
  type Queryable,
  type Transaction,
} from '../src/index.js';

describe('lockRows', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createEmptyDatabase();
    const { url: databaseUrl } = database;
    pool = connectPool({ databaseUrl, applicationName: 'test', ...patientPool, onIdleError: () => undefined });
    await pool.query(
      `CREATE TABLE thing (id int PRIMARY KEY, kind text, ended_at timestamptz);
       INSERT INTO thing VALUES (1, 'a', NULL), (2, 'a', now()), (3, 'b', NULL)`,
    );
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  /** The rows that a stronger or equal lock of others must wait for. */
  const locked = async (strength: string): Promise<number[]> => {
    const { rows } = await pool.query<{ id: number }>(`SELECT id FROM thing FOR ${strength} SKIP LOCKED`);
    return [1, 2, 3].filter((id) => !rows.some((free) => free.id === id));
  };

  it.each<[string, Parameters<typeof lockRows>[2], number[]]>([
    ['a value', { kind: 'a' }, [1, 2]],
    ['one of several values', { id: [1, 3] }, [1, 3]],
    ['no value', { ended_at: null }, [1, 3]],
    ['all of several', { kind: 'a', ended_at: null }, [1]],
    ['none of no values', { id: [] }, []],
  ])('locks the rows that have %s, until the transaction of Prisma or pg ends', async (_what, where, ids) => {
    const work = async (tx: Transaction | Queryable) => {
      await lockRows(tx, 'thing', where);
      return locked('SHARE');
    };

    expect(await inTransaction(pool, work)).toEqual(ids);
    expect(await connectPrisma(pool, patientTransactions).$transaction(work)).toEqual(ids);
    expect(await locked('UPDATE')).toEqual([]);
  });
});
