import { createTestDatabase, patientPool, type TestDatabase } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { connectPool, connectPrisma, connectReadingPrisma, type Pool, type Prisma } from '../src/index.js';

const AT = new Date('2026-03-01T20:15:30.123Z');
const KOLKATA = 'Asia/Kolkata';

describe('times in a database that is not in UTC', () => {
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
    pool = connectPool({
      databaseUrl: database.url,
      applicationName: 'test',
      ...patientPool,
      onIdleError: () => undefined,
    });
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

  it('is the case here for connections of other programs', async () => {
    expect((await other.query('SHOW timezone')).rows).toEqual([{ TimeZone: KOLKATA }]);
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
