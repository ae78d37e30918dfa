import {
  createEmptyDatabase,
  createTestDatabase,
  type FlakyProxy,
  type PostgresServer,
  type Standby,
  startFlakyProxy,
  startPostgres,
  startStandby,
  waitFor,
} from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  connectPool,
  connectPrisma,
  databaseCheck,
  isDatabaseAway,
  missingMigration,
  type Pool,
  startCheck,
} from '../src/index.js';
import { refuseOldServer } from '../src/server-checks.js';

const open = (databaseUrl: string, isReadOnly = false): Pool =>
  connectPool({ databaseUrl, applicationName: 'test', isReadOnly, onIdleError: () => undefined });
const checkOf = (pool: Pool, databaseUrl: string) => databaseCheck({ pool, databaseUrl, applicationName: 'test' });
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

describe('an address that leads to a standby for a while', () => {
  let primary: PostgresServer;
  let standby: Standby;
  let proxy: FlakyProxy;
  let url: string;
  const address = { host: '127.0.0.1', port: 0 };
  beforeAll(async () => {
    primary = await startPostgres();
    standby = await startStandby(primary);
    address.port = primary.port;
    proxy = await startFlakyProxy(address);
    const moving = new URL(primary.url);
    moving.port = String(proxy.port);
    url = moving.href;
  }, 120_000);
  afterAll(async () => {
    await proxy?.close();
    await standby?.stop();
    await primary?.stop();
  });
  const moveTo = ({ port }: PostgresServer): void => {
    address.port = port;
    proxy.restore();
  };

  it('is like no database, for pg, Prisma and readiness, and all of them work once it leads to a primary', async () => {
    const pool = open(url);
    const prisma = connectPrisma(pool);
    await pool.query('CREATE TABLE kept AS SELECT 1 AS id');
    await pool.query(
      'CREATE TABLE _prisma_migrations (migration_name text, finished_at timestamptz, rolled_back_at timestamptz)',
    );
    const readiness = checkOf(pool, url);
    const isAway = async (work: () => Promise<unknown>) => isDatabaseAway(await failureOf(work()));

    moveTo(standby);
    await waitFor('the standby to be asked', async () => (await failureOf(pool.query('SELECT 1'))) !== null);
    const away = [
      await isAway(() => pool.query('INSERT INTO kept VALUES (2)')),
      await isAway(() => prisma.$executeRaw`INSERT INTO kept VALUES (2)`),
      await isAway(() => prisma.$transaction(async (tx) => tx.$executeRaw`INSERT INTO kept VALUES (2)`)),
      await isAway(readiness),
    ];
    // A standby may be behind.
    const isReadable = await waitFor('the standby to have the table', async () => (await reading(url)).rows);
    moveTo(primary);
    await waitFor('the primary to be asked', async () => (await failureOf(pool.query('SELECT 1'))) === null);
    await pool.query('INSERT INTO kept VALUES (3)');
    await prisma.$executeRaw`INSERT INTO kept VALUES (4)`;

    expect(away).toEqual([true, true, true, true]);
    expect(isReadable).toEqual([{ id: 1 }]);
    expect((await pool.query('SELECT id FROM kept ORDER BY id')).rows).toEqual([{ id: 1 }, { id: 3 }, { id: 4 }]);
    await pool.end();
  }, 60_000);

  it('is away for statements of a session that the server makes read-only', async () => {
    const pool = open(url);
    await pool.query('CREATE TABLE more (id int)');

    const refused = await failureOf(pool.query('BEGIN READ ONLY; INSERT INTO more VALUES (1)'));

    expect(refused).toMatchObject({ code: '25006' });
    expect(isDatabaseAway(refused)).toBe(true);
    await pool.end();
  });

  const reading = async (databaseUrl: string) => {
    const pool = open(databaseUrl, true);
    try {
      return await pool.query('SELECT id FROM kept');
    } finally {
      await pool.end();
    }
  };
});

describe('the check of a database', () => {
  it('says what to run for an empty database, and before the newest migration', async () => {
    const [empty, migrated] = [await createEmptyDatabase(), await createTestDatabase()];
    const [pool, other] = [open(empty.url), open(migrated.url)];

    await expect(startCheck(checkOf(pool, empty.url))).rejects.toThrow('corral-admin migrate');
    await expect(startCheck(checkOf(other, migrated.url))).resolves.toBeUndefined();
    await other.query(`UPDATE _prisma_migrations SET finished_at = NULL`);
    await expect(checkOf(other, migrated.url)()).rejects.toThrow('older than this release');

    await Promise.all([pool.end(), other.end()]);
    await Promise.all([empty.drop(), migrated.drop()]);
  });

  it('accepts a newer schema', async () => {
    const database = await createTestDatabase();
    const pool = open(database.url);

    expect(await missingMigration(pool, [])).toBeNull();
    expect(await missingMigration(pool, ['99990101000000_next'])).toBe('99990101000000_next');

    await pool.end();
    await database.drop();
  });

  it('lets a process start while nothing listens at the address', async () => {
    const url = 'postgresql://nobody@127.0.0.1:1/none';
    const pool = open(url);

    await expect(startCheck(checkOf(pool, url))).resolves.toBeUndefined();
    await expect(checkOf(pool, url)()).rejects.toThrow('ECONNREFUSED');
    await pool.end();
  });
});

describe('a migration', () => {
  it.each([
    [140_023, /^Postgres 15 or newer is needed\. The server is a Postgres 14\.$/],
    [90_624, /a Postgres 9\.$/],
  ])('refuses the server %i', (version, sentence) => {
    expect(() => refuseOldServer(version)).toThrow(sentence);
  });

  it('accepts the oldest server that knows all statements', () => {
    expect(() => refuseOldServer(150_000)).not.toThrow();
  });
});
