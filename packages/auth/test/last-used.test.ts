import { asUserId } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { lastUsedRecorder, sessionStore, sessionUseRecorder } from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

/** All but `Date`, because the test waits for the database. */
const notFaked = [
  'nextTick',
  'setImmediate',
  'clearImmediate',
  'queueMicrotask',
  'performance',
  'hrtime',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
] as const;

let database: AuthDatabase;
let ids: string[];
beforeAll(async () => {
  database = await openAuthDatabase();
  const team = await database.teams.createTeam('acme');
  ids = [];
  for (let at = 0; at < 5; at += 1) ids.push((await database.tokens.issueToken(team, { name: 'ci' })).record.id);
});
afterAll(() => database.close());
beforeEach(() => database.pool.query('UPDATE dns_token SET last_used_at = NULL'));

describe('the last use of tokens', () => {
  it('is written in one statement, whatever the traffic', async () => {
    let statements = 0;
    const query = (text: string, values: unknown[]) => {
      statements += 1;
      return database.pool.query(text, values);
    };
    const recorder = lastUsedRecorder({ query } as unknown as Pool, fail);
    const before = Date.now();

    for (let use = 0; use < 1_000; use += 1) recorder.note(ids[use % 2] as string);
    await recorder.close();

    expect(statements).toBe(1);
    expect((await lastUse(0))?.getTime()).toBeGreaterThanOrEqual(before);
    expect(await lastUse(2)).toBeNull();
  });

  it('never moves backwards', async () => {
    const ahead = new Date(Date.now() + 60_000);
    await database.pool.query('UPDATE dns_token SET last_used_at = $2 WHERE id = $1', [ids[1], ahead]);
    const recorder = lastUsedRecorder(database.pool, fail);

    recorder.note(ids[1] as string);
    await recorder.close();

    expect(await lastUse(1)).toEqual(ahead);
  });

  it('reports an error when it cannot be written', async () => {
    const errors: Error[] = [];
    const away = { query: () => Promise.reject(new Error('away')) } as unknown as Pool;
    const recorder = lastUsedRecorder(away, (error) => errors.push(error));

    recorder.note(ids[2] as string);
    await recorder.close();

    expect(errors.map(String)).toEqual(['Error: away']);
  });

  it("uses the database's clock and only elapsed time of the process", async () => {
    const recorder = lastUsedRecorder(database.pool, fail);
    jest.useFakeTimers({ now: Date.UTC(2199, 0, 1), doNotFake: [...notFaked] });
    try {
      recorder.note(ids[0] as string);
      await recorder.close();
    } finally {
      jest.useRealTimers();
    }

    const [clock] = (await database.pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')).rows;
    expect((await lastUse(0))?.getTime()).toBeLessThanOrEqual((clock as { now: Date }).now.getTime() + 1);
  });
});

describe('concurrent updates of last use by many processes', () => {
  /** Enough rows for two statements to overlap. */
  const ROWS = 500;
  let tokens: string[];
  let sessions: string[];
  let userId: string;

  beforeAll(async () => {
    const made = (text: string) =>
      database.pool.query<{ id: string }>(text, [ROWS]).then(({ rows }) => rows.map(({ id }) => id));
    tokens = await made(`INSERT INTO dns_token (team_id, name, hash, scopes, within_types)
      SELECT team.id, 'ci', sha256(n::text::bytea), '{dns}', '{}' FROM team, generate_series(1, $1::int) AS n RETURNING id`);
    await database.pool.query(`INSERT INTO app_user (email) VALUES ('ann@acme.test')`);
    sessions = await made(`INSERT INTO session (user_id, hash, idle_expires_at, expires_at)
      SELECT app_user.id, sha256(n::text::bytea), now() + interval '1 h', now() + interval '2 h'
      FROM app_user, generate_series(1, $1::int) AS n RETURNING id`);
    userId = (await database.prisma.user.findFirstOrThrow()).id;
  });

  /** Runs statements concurrently, each with the rows in another order. @returns the errors */
  async function rounds(work: (order: <T>(of: readonly T[]) => T[], fail: (error: Error) => void) => Promise<unknown>) {
    const errors: Error[] = [];
    for (let round = 0; round < 5; round += 1) {
      const orders = [
        <T>(of: readonly T[]) => [...of],
        <T>(of: readonly T[]) => of.toReversed(),
        <T>(of: readonly T[]) => [...of.slice(ROWS / 2), ...of.slice(0, ROWS / 2)],
      ];
      await Promise.all([...orders, ...orders].map((order) => work(order, (error) => errors.push(error))));
    }
    return errors;
  }

  it('do not deadlock for tokens', async () => {
    const errors = await rounds(async (order, onError) => {
      const recorder = lastUsedRecorder(database.pool, onError);
      for (const id of order(tokens)) recorder.note(id);
      await recorder.close();
    });

    expect(errors).toEqual([]);
    expect(await database.prisma.dnsToken.count({ where: { id: { in: tokens }, lastUsedAt: null } })).toBe(0);
  });

  it('do not deadlock for sessions, nor with the revocation of all sessions of their user', async () => {
    const times = { idleMs: 7_200_000, absoluteMs: 7_200_000 };
    const store = sessionStore(database.pool, times);
    const errors = await rounds(async (order, onError) => {
      const recorder = sessionUseRecorder(database.pool, times, onError);
      for (const id of order(sessions)) recorder.note(id);
      await Promise.all([recorder.close(), store.revokeAll(asUserId(userId)).catch(onError)]);
      await database.pool.query('UPDATE session SET revoked_at = NULL WHERE id = $1', [sessions[0]]);
    });

    expect(errors).toEqual([]);
    expect(
      await database.prisma.session.count({ where: { idleExpiresAt: { lt: new Date(Date.now() + 5_400_000) } } }),
    ).toBe(0);
  });
});

async function lastUse(at: number): Promise<Date | null> {
  return (await database.prisma.dnsToken.findUniqueOrThrow({ where: { id: ids[at] as string } })).lastUsedAt;
}

function fail(error: Error): never {
  throw error;
}
