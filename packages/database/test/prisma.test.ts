import { createEmptyDatabase, databaseDoor, patientPool, type TestDatabase, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectPool, connectPrisma, isDatabaseAway, isUniqueViolation, type Pool, type Prisma } from '../src/index.js';
import { killConnections } from './kill-connections.js';

const APPLICATION = 'shared pool';
let server: TestDatabase;
let pool: Pool;
let prisma: Prisma;
beforeAll(async () => {
  server = await createEmptyDatabase();
  pool = connectPool({
    databaseUrl: server.url,
    applicationName: APPLICATION,
    connectionsMax: 2,
    ...patientPool,
    onIdleError: () => undefined,
  });
  prisma = connectPrisma(pool);
});
afterAll(async () => {
  await prisma.$disconnect();
  await pool.end();
  await server.drop();
});

/** The error that `work` rejects with. Throws if it succeeds. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => {
      throw new Error('It did not fail');
    },
    (error: unknown) => error,
  );

/** The error of `work` on a pool with short timeouts. Any of them may fire, including the wait for a connection. */
async function errorOfHasty(work: (prisma: Prisma, pool: Pool) => Promise<unknown>): Promise<unknown> {
  const hasty = connectPool({
    databaseUrl: server.url,
    applicationName: 'hasty pool',
    connectionsMax: 2,
    connectTimeoutMs: 300,
    statementTimeoutMs: 300,
    onIdleError: () => undefined,
  });
  const own = connectPrisma(hasty);
  try {
    return await errorOf(work(own, hasty));
  } finally {
    await own.$disconnect();
    await hasty.end();
  }
}

/** Does something while no connection of the pool is free. On a slow machine it takes several attempts to open them all. */
async function whileAllAreHeld(pool: Pool, work: () => Promise<unknown>): Promise<unknown> {
  const held = await Promise.all([1, 2].map(() => waitFor('a connection', () => pool.connect())));
  try {
    return await work();
  } finally {
    for (const connection of held) connection.release();
  }
}

describe('Prisma on a shared pool', () => {
  it('uses only the pool’s connections and leaves it open', async () => {
    // Twenty wait for two, so the wait may take long.
    const pool = connectPool({
      databaseUrl: server.url,
      applicationName: `${APPLICATION} of many`,
      connectionsMax: 2,
      connectTimeoutMs: 30_000,
      onIdleError: () => undefined,
    });
    const own = connectPrisma(pool);
    await Promise.all(Array.from({ length: 20 }, () => own.$transaction((tx) => tx.$queryRaw`SELECT 1`)));
    await own.$disconnect();

    expect(pool.totalCount).toBeLessThanOrEqual(2);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });

  it('recovers after its connection was killed within a transaction', async () => {
    const cut = prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1`;
      await killConnections(server.url, APPLICATION);
      await tx.$queryRaw`SELECT 1`;
    });

    expect(isDatabaseAway(await errorOf(cut))).toBe(true);
    expect(await prisma.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });
});

describe('isDatabaseAway for errors of Prisma', () => {
  it.each<[string, (prisma: Prisma, pool: Pool) => Promise<unknown>]>([
    ['when a statement takes too long', (prisma) => prisma.$queryRaw`SELECT pg_sleep(5)::text`],
    [
      'when no connection comes free for a statement',
      (prisma, pool) => whileAllAreHeld(pool, () => prisma.$queryRaw`SELECT 1`),
    ],
    [
      'when none comes free for a transaction',
      (prisma, pool) => whileAllAreHeld(pool, () => prisma.$transaction((tx) => tx.$queryRaw`SELECT 1`)),
    ],
  ])('is true %s', async (_when, work) => {
    expect(isDatabaseAway(await errorOfHasty(work))).toBe(true);
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
      while (!isOver) await prisma.$transaction((tx) => tx.$queryRaw`SELECT 1`).catch((error) => failures.push(error));
    };
    const workers = [1, 2, 3, 4].map(work);
    for (let cuts = 0; cuts < 60; cuts += 1) await killConnections(server.url, APPLICATION);
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
