import {
  createEmptyDatabase,
  createTestDatabase,
  databaseDoor,
  type FlakyProxy,
  patientPool,
  startFlakyProxy,
  startPostgres,
  type TestDatabase,
  waitFor,
} from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  connectPool,
  connectPrisma,
  connectReadingPrisma,
  inTransaction,
  isDatabaseAway,
  isUniqueViolation,
  type Listener,
  type ListenOptions,
  listen,
  type Pool,
  type PoolOptions,
  type Prisma,
  type ProcessRegister,
  registerProcess,
} from '../src/index.js';
import { killConnections } from './kill-connections.js';

const poolOf = (databaseUrl: string, options: Partial<PoolOptions> = {}): Pool =>
  connectPool({ databaseUrl, applicationName: 'test', onIdleError: () => undefined, ...options });

/** The error that `work` rejects with. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => {
      throw new Error('It did not fail');
    },
    (error: unknown) => error,
  );

describe('the pool', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createEmptyDatabase();
    const pool = poolOf(database.url);
    await pool.query('CREATE TABLE thing (id int PRIMARY KEY)');
    await pool.end();
  });
  afterAll(() => database.drop());

  const pools: Pool[] = [];
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.end().catch(() => undefined)));
  });

  describe('inTransaction', () => {
    it('survives a connection that is killed between two statements', async () => {
      const pool = opened({ connectionsMax: 1 });
      let killed = -1;

      const work = errorOf(
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

  describe('isDatabaseAway', () => {
    it('is true for a server that was stopped during a statement, and afterwards', async () => {
      const server = await startPostgres();
      const pool = opened({ databaseUrl: server.url });
      const running = errorOf(pool.query('SELECT pg_sleep(30)'));
      await server.stop();

      expect(isDatabaseAway(await running)).toBe(true);
      expect(isDatabaseAway(await failureOf(pool))).toBe(true);
    });

    it('is true for a statement that exceeded its time limit', async () => {
      const pool = opened({ statementTimeoutMs: 20 });

      expect(isDatabaseAway(await failureOf(pool, 'SELECT pg_sleep(5)'))).toBe(true);
    });

    it('is true when no connection of the pool became free in time', async () => {
      const pool = opened({ connectionsMax: 1, connectTimeoutMs: 3_000 });
      const holder = await pool.connect();

      expect(isDatabaseAway(await failureOf(pool))).toBe(true);
      holder.release();
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
  });

  function opened({ databaseUrl = database.url, ...options }: Partial<PoolOptions> = {}): Pool {
    const pool = poolOf(databaseUrl, options);
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

  const failureOf = (pool: Pool, statement = 'SELECT 1'): Promise<unknown> => errorOf(pool.query(statement));

  const nameOf = ({ url }: TestDatabase): string => new URL(url).pathname.slice(1);

  async function onServer(statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(statement);
    await client.end();
  }
});

describe('Prisma', () => {
  const APPLICATION = 'shared pool';
  let server: TestDatabase;
  let pool: Pool;
  let prisma: Prisma;
  beforeAll(async () => {
    server = await createEmptyDatabase();
    pool = poolOf(server.url, { applicationName: APPLICATION, connectionsMax: 2, ...patientPool });
    prisma = connectPrisma(pool);
  });
  afterAll(async () => {
    await prisma.$disconnect();
    await pool.end();
    await server.drop();
  });

  describe('isDatabaseAway for errors of Prisma', () => {
    it('is true when no connection comes free for a transaction', async () => {
      const hasty = poolOf(server.url, { connectionsMax: 1, connectTimeoutMs: 3_000 });
      const own = connectPrisma(hasty);
      const held = await hasty.connect();

      expect(isDatabaseAway(await errorOf(own.$transaction((tx) => tx.$queryRaw`SELECT 1`)))).toBe(true);
      held.release();
      await own.$disconnect();
      await hasty.end();
    });

    it('is true when nothing listens at the address', async () => {
      const nowhere = connectPrisma('postgresql://nobody@127.0.0.1:9/none');
      const works = [
        () => nowhere.team.count(),
        () => nowhere.$queryRaw`SELECT 1`,
        () => nowhere.$transaction((tx) => tx.team.count()),
      ];

      for (const work of works) expect(isDatabaseAway(await errorOf(work()))).toBe(true);
      await nowhere.$disconnect();
    });

    it('is true when the database does not accept connections', async () => {
      const door = databaseDoor(server.url);
      await door.shut();
      const works = [
        () => prisma.team.count(),
        () => prisma.$queryRaw`SELECT 1`,
        () => prisma.$transaction((tx) => tx.$queryRaw`SELECT 1`),
      ];
      try {
        for (const work of works) expect(isDatabaseAway(await errorOf(work()))).toBe(true);
      } finally {
        await door.open();
      }
    });

    it('is true whenever a connection is killed: before, at the begin, within or at the end of a transaction', async () => {
      let isOver = false;
      const failures: unknown[] = [];
      const work = async (): Promise<void> => {
        while (!isOver)
          await prisma.$transaction((tx) => tx.$queryRaw`SELECT 1`).catch((error) => failures.push(error));
      };
      const workers = [1, 2, 3, 4].map(work);
      for (let cuts = 0; cuts < 20; cuts += 1) await killConnections(server.url, APPLICATION);
      isOver = true;
      await Promise.all(workers);

      expect(failures.length).toBeGreaterThan(0);
      expect(failures.filter((failure) => !isDatabaseAway(failure))).toEqual([]);
    });

    it('is false when a statement is invalid or the work of a transaction fails', async () => {
      const works = [
        () => prisma.$queryRaw`SELECT 1/0`,
        () => prisma.team.count(), // no such table here
        () => prisma.$transaction(() => Promise.reject(new Error('no'))),
      ];

      for (const work of works) expect(isDatabaseAway(await errorOf(work()))).toBe(false);
    });
  });

  describe('isUniqueViolation', () => {
    it('recognises a duplicate key among other failures, for raw statements too', async () => {
      await prisma.$executeRaw`CREATE TABLE taken (key int PRIMARY KEY)`;
      await prisma.$executeRaw`INSERT INTO taken VALUES (1)`;

      expect(isUniqueViolation(await errorOf(prisma.$executeRaw`INSERT INTO taken VALUES (1)`))).toBe(true);
      expect(isUniqueViolation(await errorOf(prisma.$executeRaw`INSERT INTO taken VALUES (NULL)`))).toBe(false);
      expect(isUniqueViolation(new Error('taken'))).toBe(false);
    });
  });
});

describe('times in a database that is not in UTC', () => {
  const AT = new Date('2026-03-01T20:15:30.123Z');
  const KOLKATA = 'Asia/Kolkata';

  let database: TestDatabase;
  let pool: Pool;
  let prismas: readonly (readonly [string, Prisma])[];
  /** A connection as other programs have it. */
  let other: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    const server = new pg.Client({ connectionString: database.url });
    await server.connect();
    await server.query(
      `ALTER DATABASE ${pg.escapeIdentifier(new URL(database.url).pathname.slice(1))} SET timezone = '${KOLKATA}'`,
    );
    await server.end();
    other = new pg.Client({ connectionString: database.url });
    await other.connect();
    pool = poolOf(database.url, patientPool);
    prismas = [
      ['pool', connectPrisma(pool)],
      ['url', connectPrisma(database.url)],
    ];
  });
  afterAll(async () => {
    await Promise.all(prismas.map(([, prisma]) => prisma.$disconnect()));
    await Promise.all([pool.end(), other.end()]);
    await database.drop();
  });

  it('are the same for Prisma, pg and other programs, whoever writes them', async () => {
    const slugs: string[] = [];
    for (const [name, prisma] of prismas) {
      const slug = `by-prisma-on-${name}`;
      await prisma.team.create({ data: { slug, createdAt: AT } });
      await prisma.$executeRaw`INSERT INTO team (slug, created_at) VALUES (${`${slug}-raw`}, ${AT}::timestamptz)`;
      slugs.push(slug, `${slug}-raw`);
    }
    await pool.query('INSERT INTO team (slug, created_at) VALUES ($1, $2)', ['by-pg', AT]);
    await other.query(`INSERT INTO team (slug, created_at) VALUES ('by-others', '2026-03-02 01:45:30.123')`);
    slugs.push('by-pg', 'by-others');

    const select = 'SELECT slug, created_at AS "createdAt" FROM team ORDER BY slug';
    const expected = slugs.toSorted().map((slug) => ({ slug, createdAt: AT }));
    for (const [, prisma] of prismas) {
      expect(await prisma.team.findMany({ select: { slug: true, createdAt: true }, orderBy: { slug: 'asc' } })).toEqual(
        expected,
      );
      expect(await prisma.$queryRawUnsafe(select)).toEqual(expected);
    }
    for (const client of [pool, other]) expect((await client.query(select)).rows).toEqual(expected);
  });

  it('keep the settings that the URL states, and those of a reading connection', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c work_mem=12MB -c TimeZone=Asia/Tokyo');
    const reading = connectReadingPrisma(url.href);

    const [settings] = await reading.$queryRaw<object[]>`
    SELECT current_setting('work_mem') AS memory, current_setting('TimeZone') AS zone,
           current_setting('default_transaction_read_only') AS "readOnly"`;

    expect(settings).toEqual({ memory: '12MB', zone: 'UTC', readOnly: 'on' });
    await reading.$disconnect();
  });
});

describe('a process in the register', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = poolOf(database.url, patientPool);
  });
  const registers: ProcessRegister[] = [];
  afterEach(async () => {
    for (const register of registers.splice(0)) await register.close();
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  async function start(service = 'gateway', through: Pick<Pool, 'query'> = pool) {
    const errors: Error[] = [];
    const register = await registerProcess({ pool: through, service, onError: (error) => errors.push(error) });
    registers.push(register);
    return { ...register, errors };
  }
  const rows = async (): Promise<number> =>
    Number((await pool.query('SELECT count(*) AS count FROM service_process')).rows[0].count);

  it('sees the number of live processes of its service, itself included', async () => {
    const counts: number[] = [];
    for (const service of ['gateway', 'gateway', 'api', 'gateway']) counts.push((await start(service)).count);

    expect(counts).toEqual([1, 2, 1, 3]);
  });

  it('ignores processes that were silent lately, and deletes the rows of those long gone', async () => {
    await start();
    await start();
    await pool.query(`UPDATE service_process SET seen_at = clock_timestamp() - interval '16 seconds'`);
    expect((await start()).count).toBe(1);

    await pool.query(`UPDATE service_process SET seen_at = clock_timestamp() - interval '61 minutes'`);
    expect((await start()).count).toBe(1);
    expect(await rows()).toBe(1);
  });

  it('counts as one process while the database is unavailable', async () => {
    const away = { query: () => Promise.reject(new Error('away')) } as unknown as Pool;

    const { count, errors } = await start('gateway', away);

    expect([count, errors.map(({ message }) => message)]).toEqual([1, ['away']]);
  });
});

describe('listen', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createEmptyDatabase();
  });
  afterAll(() => database.drop());

  const listeners: Listener[] = [];
  const proxies: FlakyProxy[] = [];
  afterEach(async () => {
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    await Promise.all(listeners.splice(0).map((listener) => listener.close()));
  });

  it('reconnects when its connection is killed, and reports a gap at both ends', async () => {
    const { listener, gaps, heard, errors } = start();
    await waitFor('the listener to connect', listener.isConnected);

    await killConnections(database.url, 'listener');
    await waitFor('the loss to be noticed', () => gaps() === 2);
    expect(listener.isConnected()).toBe(false);
    await waitFor('the listener to come back', listener.isConnected);
    await notify('first', 'after');

    await waitFor('the notification', () => heard.length === 1);
    expect(gaps()).toBe(3);
    expect(errors).toHaveLength(1);
  });

  describe('on a connection that hangs but stays open', () => {
    it('counts as connected for 1.5 s after the last answered probe', async () => {
      let now = 0;
      const { listener, proxy } = await startBehindProxy({ tick: () => now });

      proxy.hang();
      now += 1_499;
      const before = listener.isConnected();
      now += 1;

      expect([before, listener.isConnected()]).toEqual([true, false]);
    });

    it('reconnects and receives again', async () => {
      const { listener, heard, gaps, proxy } = await startBehindProxy();
      proxy.hang();
      await waitFor('the silence to be noticed', () => !listener.isConnected());
      await notify('first', 'lost');

      proxy.restore();
      await waitFor('the listener to come back', listener.isConnected);
      await notify('first', 'after');

      await waitFor('the notification', () => heard.length === 1);
      expect(heard).toEqual(['first after']);
      expect(gaps()).toBe(3);
    });
  });

  function start(databaseUrl = database.url, options: Pick<ListenOptions, 'tick'> = {}) {
    const heard: string[] = [];
    const errors: Error[] = [];
    let gaps = 0;
    const listener = listen({
      databaseUrl,
      applicationName: 'listener',
      channels: {
        first: (payload) => heard.push(`first ${payload}`),
        second: (payload) => heard.push(`second ${payload}`),
      },
      onGap: () => {
        gaps += 1;
      },
      onError: (error) => errors.push(error),
      ...options,
    });
    listeners.push(listener);
    return { listener, heard, errors, gaps: () => gaps };
  }

  async function startBehindProxy(options: Pick<ListenOptions, 'tick'> = {}) {
    const { hostname: host, port } = new URL(database.url);
    const proxy = await startFlakyProxy({ host, port: Number(port) });
    proxies.push(proxy);
    const url = new URL(database.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const started = start(url.toString(), options);
    await waitFor('the listener to connect', started.listener.isConnected);
    return { ...started, proxy };
  }

  async function notify(channel: string, payload: string): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('SELECT pg_notify($1, $2)', [channel, payload]);
    await client.end();
  }
});
