import type { Socket } from 'node:net';
import { createEmptyDatabase, type TestDatabase } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  connectPool,
  inOneTrip,
  inOrder,
  inTransaction,
  isDatabaseAway,
  type Pool,
  type Queryable,
} from '../src/index.js';
import { killConnections } from './kill-connections.js';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  pool = open('test', 2);
  await pool.query('CREATE TABLE thing (id int PRIMARY KEY, note text)');
});
afterEach(async () => {
  await pool.query('DROP TABLE thing');
  await pool.end();
});

const open = (applicationName: string, connectionsMax: number): Pool =>
  connectPool({ databaseUrl: database.url, applicationName, connectionsMax, onIdleError: () => undefined });

const add = (tx: Queryable, id: number) => tx.query('INSERT INTO thing VALUES ($1) RETURNING id', [id]);
const ids = async () => (await pool.query<{ id: number }>('SELECT id FROM thing ORDER BY id')).rows.map(({ id }) => id);

describe('the statements of one turn in a transaction', () => {
  it('are answered in one packet', async () => {
    const packets = await inTransaction(pool, async (tx, commitWith) => {
      await tx.query('SELECT $1::int', [1]);
      let count = 0;
      const { stream } = (tx as unknown as { connection: { stream: Socket } }).connection;
      const note = () => {
        count += 1;
      };
      stream.on('data', note);
      await commitWith(inOrder([add(tx, 1), add(tx, 2), tx.query('SELECT $1::text AS text', ['x'])]));
      stream.off('data', note);
      return count;
    });

    expect(packets).toBe(1);
    expect(await ids()).toEqual([1, 2]);
  });

  it('have results of their own', async () => {
    const results = await inTransaction(pool, (tx) =>
      inOrder([
        add(tx, 1),
        tx.query('SELECT id, note FROM thing', []),
        tx.query('UPDATE thing SET note = $1 WHERE id > $2', ['new', 5]),
        tx.query<{ big: number; at: Date }>('SELECT $1::bigint AS big, $2::timestamptz AS at', [
          7,
          '2026-01-01T00:00:00Z',
        ]),
      ]),
    );

    expect(results.map(({ command, rowCount, rows }) => ({ command, rowCount, rows }))).toEqual([
      { command: 'INSERT', rowCount: 1, rows: [{ id: 1 }] },
      { command: 'SELECT', rowCount: 1, rows: [{ id: 1, note: null }] },
      { command: 'UPDATE', rowCount: 0, rows: [] },
      { command: 'SELECT', rowCount: 1, rows: [{ big: 7, at: new Date('2026-01-01T00:00:00Z') }] },
    ]);
  });

  it('see what was committed while an earlier one of them waited for a lock', async () => {
    const [, seen] = await whileOneWaits((other) =>
      inTransaction(other, (tx) =>
        inOrder([
          tx.query('SELECT id FROM thing WHERE id = $1 FOR UPDATE', [1]),
          tx.query<{ note: string }>('SELECT note FROM thing WHERE id = $1', [2]),
        ]),
      ),
    );

    expect(seen.rows).toEqual([{ note: 'new' }]);
  });

  it('fail after the first that fails, and leave the connection usable', async () => {
    const ends = await inTransaction(pool, async (tx) => {
      const ended = await Promise.allSettled([add(tx, 1), add(tx, 1), add(tx, 2), tx.query('SELECT $1::int', [1])]);
      throw Object.assign(new Error('rolled back'), { ended });
    }).catch(({ ended }: { ended: PromiseSettledResult<unknown>[] }) =>
      ended.map((end) => (end.status === 'fulfilled' ? 'done' : (end.reason as { code: string }).code)),
    );

    expect(ends).toEqual(['done', '23505', '25P02', '25P02']);
    expect(await ids()).toEqual([]);
    expect(pool.totalCount).toBe(1);
  });

  it('can be sent again after one of them failed before the others were prepared', async () => {
    const statement = (text: string) => ({ name: text, text, values: [1] });
    const both = (first: string) =>
      inTransaction(pool, (tx) =>
        inOrder([tx.query(statement(first)), tx.query(statement('SELECT $1::int + 1 AS two'))]),
      );

    await expect(both('SELECT 1 / ($1::int - 1)')).rejects.toMatchObject({ code: '22012' });
    await expect(both('SELECT $1 FROM nowhere')).rejects.toMatchObject({ code: '42P01' });

    expect((await both('SELECT $1::int'))[1].rows).toEqual([{ two: 2 }]);
    expect(pool.totalCount).toBe(1);
  });

  it('are not executed at all if one of them has a value that cannot be sent', async () => {
    const circle: Record<string, unknown> = {};
    circle.itself = circle;

    const work = inTransaction(pool, (tx, commitWith) =>
      commitWith(inOrder([add(tx, 1), tx.query('SELECT $1::jsonb', [circle])])),
    );

    await expect(work).rejects.toThrow(/circular/i);
    expect(await ids()).toEqual([]);
  });

  it('all fail when the connection is killed', async () => {
    const own = open('killed', 1);
    const work = inTransaction(own, (tx) =>
      Promise.allSettled([tx.query('SELECT pg_sleep($1)', [30]), tx.query('SELECT $1::int', [1])]),
    ).catch((error: unknown) => error);
    await untilOneSleeps();
    await killConnections(database.url, 'killed');

    expect(isDatabaseAway(await work)).toBe(true);
    expect((await own.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await own.end();
  });

  it('end with the time limit of statements', async () => {
    const own = connectPool({
      databaseUrl: database.url,
      applicationName: 'limited',
      statementTimeoutMs: 50,
      onIdleError: () => undefined,
    });

    const work = inTransaction(own, (tx) => inOrder([add(tx, 1), tx.query('SELECT pg_sleep($1)', [30])]));

    await expect(work).rejects.toMatchObject({ code: '57014' });
    expect(await ids()).toEqual([]);
    await own.end();
  });
});

describe('inOneTrip', () => {
  const insert = (id: number) => ({ text: 'INSERT INTO thing VALUES ($1) RETURNING id', values: [id] });

  it('commits statements together and returns their results', async () => {
    const [first, second] = await inOneTrip<[{ id: number }, { id: number }]>(pool, [insert(1), insert(2)]);

    expect([first.rows, second.rows]).toEqual([[{ id: 1 }], [{ id: 2 }]]);
    expect(await ids()).toEqual([1, 2]);
  });

  it('changes nothing if one of them fails', async () => {
    await expect(inOneTrip(pool, [insert(1), insert(1), insert(2)])).rejects.toMatchObject({ code: '23505' });

    expect(await ids()).toEqual([]);
    expect(pool.totalCount).toBe(1);
  });

  it('fails if Postgres cannot commit', async () => {
    await pool.query('ALTER TABLE thing ADD CONSTRAINT once UNIQUE (note) DEFERRABLE INITIALLY DEFERRED');
    const noted = (id: number) => ({ text: "INSERT INTO thing VALUES ($1, 'same')", values: [id] });

    await expect(inOneTrip(pool, [noted(1), noted(2)])).rejects.toMatchObject({ code: '23505' });

    expect(await ids()).toEqual([]);
  });

  it('sees what was committed while an earlier statement waited for a lock', async () => {
    const [, seen] = await whileOneWaits((other) =>
      inOneTrip<[object, { note: string }]>(other, [
        { text: 'SELECT id FROM thing WHERE id = $1 FOR UPDATE', values: [1] },
        { text: 'SELECT note FROM thing WHERE id = $1', values: [2] },
      ]),
    );

    expect(seen.rows).toEqual([{ note: 'new' }]);
  });
});

/** Runs `work`, which waits for a lock, on another connection, and changes the notes of both things before the lock is free. */
async function whileOneWaits<T>(work: (other: Pool) => Promise<T>): Promise<T> {
  await pool.query("INSERT INTO thing VALUES (1, 'old'), (2, 'old')");
  const holder = await pool.connect();
  try {
    await holder.query('BEGIN');
    await holder.query("UPDATE thing SET note = 'new'");
    const other = open('other', 1);
    const done = work(other);
    await untilOneWaits();
    await holder.query('COMMIT');
    const result = await done;
    await other.end();
    return result;
  } finally {
    holder.release();
  }
}

const untilOneWaits = () => until("wait_event_type = 'Lock'");
const untilOneSleeps = () => until("wait_event = 'PgSleep'");

async function until(condition: string): Promise<void> {
  const asked = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`;
  while ((await pool.query(asked)).rowCount === 0);
}
