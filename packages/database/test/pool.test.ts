import { createEmptyDatabase, freePort, startPostgres, type TestDatabase } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { connectPool, inTransaction, isDatabaseAway, type Pool, type PoolOptions } from '../src/index.js';
import { killConnections } from './kill-connections.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
  const pool = open();
  await pool.query('CREATE TABLE thing (id int PRIMARY KEY)');
  await pool.end();
});
afterAll(() => database.drop());

const pools: Pool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end().catch(() => undefined)));
});

describe('inTransaction', () => {
  it('commits the work and returns its value', async () => {
    const pool = opened();

    const value = await inTransaction(pool, async (tx) => {
      await tx.query('INSERT INTO thing VALUES (1)');
      return 'done';
    });

    expect(value).toBe('done');
    expect(await countOf(pool, 1)).toBe(1);
  });

  it('rolls back when the work throws, rethrows the error and keeps the connection', async () => {
    const pool = opened({ connectionsMax: 1 });
    const before = await backendOf(pool);
    const failure = new Error('no');

    const work = inTransaction(pool, async (tx) => {
      await tx.query('INSERT INTO thing VALUES (2)');
      throw failure;
    });

    await expect(work).rejects.toBe(failure);
    expect(await countOf(pool, 2)).toBe(0);
    expect(await backendOf(pool)).toBe(before);
  });

  it('rolls back when a statement fails', async () => {
    const pool = opened({ connectionsMax: 1 });

    const work = inTransaction(pool, async (tx) => {
      await tx.query('INSERT INTO thing VALUES (3)');
      await tx.query('INSERT INTO thing VALUES (3)');
    });

    await expect(work).rejects.toMatchObject({ code: '23505' });
    expect(await countOf(pool, 3)).toBe(0);
  });

  it('fails when a statement failed that nobody waited for', async () => {
    const work = inTransaction(opened(), async (tx) => {
      tx.query('SELECT 1 / 0').catch(() => undefined);
    });

    await expect(work).rejects.toThrow('rolled back');
  });

  it('discards a connection that was killed during a statement', async () => {
    const pool = opened({ connectionsMax: 1 });
    const before = await backendOf(pool);

    const work = inTransaction(pool, (tx) => tx.query('SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(5)'));

    expect(isDatabaseAway(await endOf(work))).toBe(true);
    expect(await backendOf(pool)).not.toBe(before);
  });

  it('survives a connection that is killed between two statements', async () => {
    const pool = opened({ connectionsMax: 1 });
    let killed = -1;

    const work = endOf(
      inTransaction(pool, async (tx) => {
        await tx.query('INSERT INTO thing VALUES (4)');
        killed = (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid ?? -1;
        const ended = new Promise((resolve) => (tx as pg.PoolClient).once('end', resolve));
        await killConnections(database.url, 'test');
        await ended;
        await tx.query('INSERT INTO thing VALUES (5)');
      }),
    );

    expect(isDatabaseAway(await work)).toBe(true);
    expect(await backendOf(pool)).not.toBe(killed);
    expect(await countOf(pool, 4)).toBe(0);
  });
});

describe('a borrowed connection', () => {
  it('breaks without ending the process, and fails the next statement', async () => {
    const pool = opened({ applicationName: 'borrowed' });
    const client = await pool.connect();
    const ended = new Promise((resolve) => client.once('end', resolve));

    await killConnections(database.url, 'borrowed');
    await ended;

    await expect(client.query('SELECT 1')).rejects.toThrow();
    client.release(true);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });
});

describe('isDatabaseAway', () => {
  it('is true when nothing listens at the address', async () => {
    const url = `postgresql://nobody@127.0.0.1:${await freePort()}/nowhere`;

    expect(isDatabaseAway(await failureOf(opened({ databaseUrl: url })))).toBe(true);
  });

  it('is true for a server that was stopped during a statement, and afterwards', async () => {
    const server = await startPostgres();
    const pool = opened({ databaseUrl: server.url });
    const running = endOf(pool.query('SELECT pg_sleep(30)'));
    await server.stop();

    expect(isDatabaseAway(await running)).toBe(true);
    expect(isDatabaseAway(await failureOf(pool))).toBe(true);
  });

  it('is true for a statement that exceeded its time limit', async () => {
    const pool = opened({ statementTimeoutMs: 20 });

    expect(isDatabaseAway(await failureOf(pool, 'SELECT pg_sleep(5)'))).toBe(true);
  });

  it('is true when no connection of the pool became free in time', async () => {
    const pool = opened({ connectionsMax: 1, connectTimeoutMs: 500 });
    const holder = await pool.connect();

    expect(isDatabaseAway(await failureOf(pool))).toBe(true);
    holder.release();
  });

  it('is true when the database does not accept connections', async () => {
    const closed = await createEmptyDatabase();
    await alter(closed, false);

    expect(isDatabaseAway(await failureOf(opened({ databaseUrl: closed.url })))).toBe(true);
    await closed.drop();
  });

  it('is true when the server has no connection left', async () => {
    const full = await createEmptyDatabase();
    await onServer(`ALTER DATABASE ${nameOf(full)} CONNECTION LIMIT 0`);
    await onServer(`CREATE ROLE limited LOGIN PASSWORD 'limited'`);
    const url = new URL(full.url);
    Object.assign(url, { username: 'limited', password: 'limited' });

    expect(isDatabaseAway(await failureOf(opened({ databaseUrl: url.href })))).toBe(true);
    await full.drop();
    await onServer('DROP ROLE limited');
  });

  it.each([
    ['an invalid statement', 'SELEC 1'],
    ['a missing table', 'SELECT * FROM nothing_here'],
    ['a row that exists already', 'INSERT INTO thing VALUES (100), (100)'],
    ['an object in the wrong state', `SELECT currval('lonely')`],
  ])('is false for %s', async (_what, statement) => {
    const pool = opened();
    await pool.query('CREATE SEQUENCE IF NOT EXISTS lonely');

    expect(isDatabaseAway(await failureOf(pool, statement))).toBe(false);
  });

  it.each([null, undefined, 'ECONNREFUSED', { code: '57P01' }, new TypeError('x is not a function')])(
    'is false for %p, which is not an error of Postgres',
    (value) => {
      expect(isDatabaseAway(value)).toBe(false);
    },
  );
});

function open(options: Partial<PoolOptions> = {}): Pool {
  return connectPool({ databaseUrl: database.url, applicationName: 'test', onIdleError: () => undefined, ...options });
}

function opened(options: Partial<PoolOptions> = {}): Pool {
  const pool = open(options);
  pools.push(pool);
  return pool;
}

async function backendOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid ?? -1;
}

async function countOf(pool: Pool, id: number): Promise<number | null> {
  return (await pool.query('SELECT FROM thing WHERE id = $1', [id])).rowCount;
}

const failureOf = (pool: Pool, statement = 'SELECT 1'): Promise<unknown> => endOf(pool.query(statement));

const endOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'it succeeded',
    (error: unknown) => error,
  );

const nameOf = ({ url }: TestDatabase): string => new URL(url).pathname.slice(1);

const alter = (closed: TestDatabase, allow: boolean): Promise<void> =>
  onServer(`ALTER DATABASE ${nameOf(closed)} WITH ALLOW_CONNECTIONS ${allow}`);

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
