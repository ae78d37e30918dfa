import type { Socket } from 'node:net';
import { createEmptyDatabase, type TestDatabase } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { connectPool, connectPrisma, inTransaction, type Pool } from '../src/index.js';
import { statementNames } from '../src/prepared-statements.js';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    connectionsMax: 1,
    onIdleError: () => undefined,
  });
  await pool.query('CREATE TABLE thing (id int PRIMARY KEY)');
  await pool.query('INSERT INTO thing VALUES (1)');
});
afterEach(async () => {
  await pool.query('DROP TABLE thing');
  await pool.end();
});

describe('statements of one turn of the event loop', () => {
  it('are sent in one write to the socket', async () => {
    const client = await pool.connect();
    try {
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      const several = jest.spyOn(stream as Required<Socket>, '_writev');
      const single = jest.spyOn(stream, '_write');

      const sent = ['BEGIN', 'SELECT 1', 'COMMIT'].map((text) => client.query(text));
      sent.push(client.query('SELECT $1::int AS value', [7]));
      const answers = await Promise.all(sent);

      expect(answers[3]?.rows).toEqual([{ value: 7 }]);
      expect([several.mock.calls.length, single.mock.calls.length]).toEqual([1, 0]);
    } finally {
      client.release();
    }
  });
});

describe('a frequent statement', () => {
  it('is prepared once per connection, with different values in each call', async () => {
    const text = 'SELECT id + $1 AS sum FROM thing';

    const sums: number[] = [];
    for (let value = 0; value < 8; value += 1)
      sums.push((await pool.query<{ sum: number }>(text, [value])).rows[0]?.sum ?? 0);

    expect(sums).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await preparedLike(text)).toBe(1);
  });

  it('is prepared inside a transaction, even when several are sent before the first answer', async () => {
    const text = 'SELECT id + $1 AS other FROM thing';

    const rows = await inTransaction(pool, (tx) =>
      Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((value) => tx.query<{ other: number }>(text, [value]))),
    );

    expect(rows.map(({ rows: [row] }) => row?.other)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await preparedLike(text)).toBe(1);
  });

  it('is prepared when it comes from Prisma', async () => {
    const prisma = connectPrisma(pool);

    for (let value = 0; value < 8; value += 1) await prisma.$queryRaw`SELECT id * ${value} AS product FROM thing`;

    expect(await preparedLike('SELECT id * $1 AS product FROM thing')).toBe(1);
    await prisma.$disconnect();
  });

  it('is prepared when it reads a list of values as rows', async () => {
    const text = 'SELECT id FROM thing WHERE id IN (SELECT * FROM unnest($1::int[]))';

    for (let round = 0; round < 8; round += 1) await pool.query(text, [[1]]);

    expect(await preparedLike(text)).toBe(1);
  });

  it('is described once per connection, and its rows are read alike before and after', async () => {
    const { descriptions, stop } = await countDescriptions();
    const text = 'SELECT $1::bigint AS big, $2::timestamptz AS at, $3::text AS note';

    const rows: unknown[] = [];
    for (let round = 0; round < 8; round += 1) {
      rows.push((await pool.query(text, [7, '2026-01-01T00:00:00Z', null])).rows[0]);
    }

    const at = new Date('2026-01-01T00:00:00Z');
    expect(rows).toEqual(Array.from({ length: 8 }, () => ({ big: 7, at, note: null })));
    // Unnamed at first, then prepared.
    expect(descriptions()).toBe(5);
    stop();
  });

  it('is described once per connection without columns, too', async () => {
    const { descriptions, stop } = await countDescriptions();

    const counts: (number | null)[] = [];
    for (let round = 0; round < 8; round += 1) {
      counts.push((await pool.query('UPDATE thing SET id = id WHERE id < $1', [5])).rowCount);
    }

    expect([counts, descriptions()]).toEqual([Array.from({ length: 8 }, () => 1), 5]);
    stop();
  });

  it('leaves the connection usable when a later value cannot be sent', async () => {
    const circle: Record<string, unknown> = {};
    circle.itself = circle;
    const text = 'SELECT $1::jsonb AS value';
    for (let round = 0; round < 6; round += 1) await pool.query(text, [{ round }]);

    await expect(pool.query(text, [circle])).rejects.toThrow(/circular/i);

    expect((await pool.query(text, [{ round: 7 }])).rows).toEqual([{ value: { round: 7 } }]);
  });

  it('fails with what Postgres says when a migration changed its columns, and does not read them as before', async () => {
    const text = 'SELECT id FROM thing WHERE id = $1::int';
    for (let round = 0; round < 6; round += 1) await pool.query(text, [1]);

    await pool.query('ALTER TABLE thing ALTER COLUMN id TYPE text');

    await expect(pool.query(text, [1])).rejects.toThrow();
  });

  it.each(['SELECT * FROM thing WHERE id = $1', 'SELECT thing.* FROM thing WHERE id = $1'])(
    'survives a migration that adds a column: %s',
    async (text) => {
      for (let round = 0; round < 8; round += 1) await pool.query(text, [1]);

      await pool.query("ALTER TABLE thing ADD COLUMN name text DEFAULT 'new'");

      expect((await pool.query(text, [1])).rows).toEqual([{ id: 1, name: 'new' }]);
    },
  );
});

describe('statementNames', () => {
  const bounds = { usesBefore: 2, namedMax: 2, countedMax: 3 };

  it('gives a frequent text the same name each time, and different texts different names', () => {
    const nameOf = statementNames(bounds);
    const named = ['SELECT 1', 'SELECT 2'].map((text) => [1, 2, 3, 4].map(() => nameOf(text)));

    expect(named.map((names) => names.slice(0, 2))).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
    expect(new Set(named.flatMap((names) => names.slice(2))).size).toBe(2);
    expect(named.every(([, , third, fourth]) => third !== undefined && third === fourth)).toBe(true);
  });

  it('names no more texts than its limit', () => {
    const nameOf = statementNames(bounds);

    const last = ['SELECT 1', 'SELECT 2', 'SELECT 3'].map((text) => [1, 2, 3].map(() => nameOf(text))[2]);

    expect(last.map((name) => name !== undefined)).toEqual([true, true, false]);
  });

  it('forgets its counts when there are too many texts', () => {
    const nameOf = statementNames(bounds);
    const texts = ['a', 'b', 'c', 'd'].map((column) => `SELECT ${column} FROM thing`);

    expect([...texts, ...texts, ...texts].map(nameOf)).toEqual(Array.from({ length: 12 }, () => undefined));
  });
});

/** How often the pool's connection asks Postgres for the columns of a statement. */
async function countDescriptions() {
  const client = await pool.connect();
  const { connection } = client as unknown as { connection: { describe(message: object): void } };
  client.release();
  const describing = jest.spyOn(connection, 'describe');
  return { descriptions: () => describing.mock.calls.length, stop: () => describing.mockRestore() };
}

/** Number of prepared statements with this text on the pool's connection. */
async function preparedLike(text: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>({
    text: 'SELECT count(*)::int AS count FROM pg_prepared_statements WHERE statement = $1',
    values: [text],
  });
  return rows[0]?.count ?? 0;
}
