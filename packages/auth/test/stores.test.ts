import { asUserId, reservedSlugs } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  countRequests,
  hashDnsToken,
  isWellFormedDnsToken,
  lastUsedRecorder,
  type RequestCounter,
  requestCounter,
  sessionStore,
  sessionUseRecorder,
  type TeamRecord,
  TeamRuleError,
} from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

let database: AuthDatabase;

beforeAll(async () => {
  database = await openAuthDatabase();
});

afterAll(() => database.close());

describe('stores', () => {
  describe('a team', () => {
    it('is created once, found by its slug and listed in order of slugs', async () => {
      const { teams } = database;
      const created = await teams.createTeam('zeta');
      await teams.createTeam('alpha');

      expect(await teams.findTeam('zeta')).toEqual(created);
      expect(await teams.findTeam('nobody')).toBeNull();
      const slugs = (await teams.listTeams()).map(({ slug }) => slug);
      expect(slugs.filter((slug) => ['zeta', 'alpha'].includes(slug))).toEqual(['alpha', 'zeta']);
      expect(slugs).toEqual([...slugs].sort());
      await expect(teams.createTeam('zeta')).rejects.toThrow('A team "zeta" already exists.');
    });

    it('is created by one of many concurrent attempts', async () => {
      const tries = Array.from({ length: 8 }, () => database.teams.createTeam('wanted'));

      const ends = await Promise.allSettled(tries);

      expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
      for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(TeamRuleError);
    });

    it.each([
      ['', 'A', 'Acme', '-acme', 'acme-', 'ac me', 'ac.me', '_dmarc', 'ä', 'a'.repeat(64), '@', '*'],
      reservedSlugs,
    ])('cannot have an invalid or reserved slug such as %j', async (...slugs) => {
      for (const slug of slugs) await expect(database.teams.createTeam(slug)).rejects.toThrow(TeamRuleError);
    });
  });

  describe('the tokens of a team', () => {
    it('are returned as text once and stored as a hash', async () => {
      const team = await database.teams.createTeam('hashed');

      const { token, record } = await database.tokens.issueToken(team, { name: 'ci' });

      expect(isWellFormedDnsToken(token)).toBe(true);
      const row = await database.prisma.dnsToken.findUniqueOrThrow({ where: { id: record.id } });
      expect(Buffer.from(row.hash).equals(hashDnsToken(token))).toBe(true);
      expect(JSON.stringify({ row, record, listed: await database.tokens.listTokens(team) })).not.toContain(token);
    });

    it('never exceed five active ones, even when issued concurrently', async () => {
      const team = await database.teams.createTeam('crowded');
      const tries = Array.from({ length: 20 }, (_, at) => database.tokens.issueToken(team, { name: `t${at}` }));

      const ends = await Promise.allSettled(tries);

      expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(5);
      const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
      for (const refusal of refusals) expect(refusal).toBeInstanceOf(TeamRuleError);
      expect(String(refusals[0])).toContain('has 5 active tokens');
      expect(await database.tokens.listTokens(team)).toHaveLength(5);
    });

    it('no longer count once revoked or expired', async () => {
      const team = await database.teams.createTeam('renewing');
      const issued = [];
      for (let at = 0; at < 5; at += 1) issued.push(await database.tokens.issueToken(team, { name: `t${at}` }));
      const [revoked, expired] = issued.map(({ record }) => record.id);
      await expect(database.tokens.issueToken(team, { name: 'sixth' })).rejects.toThrow(TeamRuleError);

      await database.tokens.revokeToken(team, revoked as string);
      await database.pool.query(`UPDATE dns_token SET expires_at = now() - interval '1 s' WHERE id = $1`, [expired]);

      await database.tokens.issueToken(team, { name: 'sixth' });
      await database.tokens.issueToken(team, { name: 'seventh' });
      await expect(database.tokens.issueToken(team, { name: 'eighth' })).rejects.toThrow(TeamRuleError);
    });

    it('can be revoked once, and only by their own team', async () => {
      const [owner, stranger] = [await database.teams.createTeam('owner'), await database.teams.createTeam('stranger')];
      const { record } = await database.tokens.issueToken(owner, { name: 'ci' });

      expect(await database.tokens.revokeToken(stranger, record.id)).toBe(false);
      expect(await database.tokens.revokeToken(owner, record.id)).toBe(true);
      expect(await database.tokens.revokeToken(owner, record.id)).toBe(false);
      expect((await database.tokens.listTokens(owner))[0]?.revokedAt).toBeInstanceOf(Date);
    });

    it('have one audit entry each for issue and revocation', async () => {
      const team = await database.teams.createTeam('traced');
      const { token, record } = await database.tokens.issueToken(team, { name: 'ci', withinTypes: ['TXT'] });
      await database.tokens.revokeToken(team, record.id);
      await database.tokens.revokeToken(team, record.id);

      const entries = await database.prisma.auditEntry.findMany({ where: { teamId: team.id }, orderBy: { id: 'asc' } });

      const target = { targetKind: 'DnsToken', targetId: record.id, targetName: 'ci', userId: null };
      expect(entries).toEqual([
        expect.objectContaining({ action: 'dns_token.create', ...target }),
        expect.objectContaining({ action: 'dns_token.revoke', ...target }),
      ]);
      expect(entries[0]?.detail).toEqual({ scopes: ['dns'], withinName: null, withinTypes: ['TXT'], expiresAt: null });
      expect(
        JSON.stringify(entries, (_key, value) => (typeof value === 'bigint' ? String(value) : value)),
      ).not.toContain(token);
    });

    it('are neither issued nor revoked when the audit entry fails', async () => {
      const team = await database.teams.createTeam('untraced');
      const { record } = await database.tokens.issueToken(team, { name: 'kept' });
      await database.pool.query(
        `CREATE FUNCTION refuse_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no entry today'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_audit()`,
      );
      try {
        await expect(database.tokens.issueToken(team, { name: 'lost' })).rejects.toThrow();
        await expect(database.tokens.revokeToken(team, record.id)).rejects.toThrow();
      } finally {
        await database.pool.query('DROP TRIGGER refuse ON audit_entry; DROP FUNCTION refuse_audit');
      }

      expect((await database.tokens.listTokens(team)).map(({ name, revokedAt }) => [name, revokedAt])).toEqual([
        ['kept', null],
      ]);
    });

    it.each([
      ['the name of another team', { withinName: 'globex' }],
      ['a name with the same ending', { withinName: 'xnarrow' }],
      ['a name that is not valid', { withinName: 'a b.narrow' }],
      ['a type the API does not write', { withinTypes: ['NS'] }],
      ['a time in the past', { expiresAt: new Date(0) }],
      ['an invalid time', { expiresAt: new Date(Number.NaN) }],
    ])('cannot be narrowed to %s', async (_what, narrowing) => {
      const team = (await database.teams.findTeam('narrow')) ?? (await database.teams.createTeam('narrow'));

      await expect(database.tokens.issueToken(team, { name: 'ci', ...narrowing })).rejects.toThrow(TeamRuleError);
    });
  });
});

describe('the request counts of a team', () => {
  let team: TeamRecord;
  let other: TeamRecord;
  beforeEach(async () => {
    await database.pool.query('TRUNCATE team CASCADE');
    [team, other] = [await database.teams.createTeam('acme'), await database.teams.createTeam('globex')];
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const MINUTE_MS = 60_000;
  const fail = (error: Error): never => {
    throw error;
  };
  const noteTimes = (counter: RequestCounter, { id }: TeamRecord, times: number): void => {
    for (let time = 0; time < times; time += 1) counter.note(id);
  };
  /** A fixed time for the whole test, so that the minute cannot end during it. */
  let now: number;
  beforeEach(() => {
    now = Date.now();
  });
  /** Runs the synchronous part of `work` as if it happened this many minutes ago. */
  function ago<T>(minutes: number, work: () => T): T {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(now - minutes * MINUTE_MS);
    const result = work();
    clock.mockRestore();
    return result;
  }
  const lastHour = ({ id }: TeamRecord) => ago(0, () => countRequests(database.prisma, id));

  /** A counter whose statements are counted and can be made to fail. */
  function start({ answerIsLost = false } = {}) {
    let statements = 0;
    let isAway = false;
    const errors: Error[] = [];
    const query = async (statement: string) => {
      statements += 1;
      if (isAway && !answerIsLost) throw new Error('away');
      const answer = await database.pool.query(statement);
      if (isAway) throw new Error('the answer is lost');
      return answer;
    };
    const counter = requestCounter({ query } as unknown as Pool, (error) => errors.push(error));
    return {
      counter,
      errors,
      statements: () => statements,
      setAway: (to: boolean) => {
        isAway = to;
      },
    };
  }
  it('are written in one statement, whatever the traffic', async () => {
    const { counter, statements } = start();

    noteTimes(counter, team, 1_000);
    noteTimes(counter, other, 7);
    await counter.close();

    expect(statements()).toBe(1);
    expect([await lastHour(team), await lastHour(other)]).toEqual([1_000, 7]);
  });

  it('are summed over all processes', async () => {
    const counters = [1, 2, 3].map(() => requestCounter(database.pool, fail));

    for (const counter of counters) noteTimes(counter, team, 10);
    await Promise.all(counters.map((counter) => counter.close()));

    expect(await lastHour(team)).toBe(30);
  });

  it('cover the last sixty minutes', async () => {
    const counter = requestCounter(database.pool, fail);

    for (const minutes of [61, 59, 0]) ago(minutes, () => noteTimes(counter, team, minutes + 1));
    await counter.close();

    expect(await lastHour(team)).toBe(61);
  });

  it('are not doubled when the outcome of a statement is unknown', async () => {
    const { counter, errors, setAway } = start({ answerIsLost: true });

    noteTimes(counter, team, 5);
    setAway(true);
    await counter.close();
    setAway(false);
    noteTimes(counter, team, 2);
    await counter.close();

    expect(errors).toHaveLength(1);
    expect(await lastHour(team)).toBe(7);
  });

  it('are kept for at most an hour while Postgres is unavailable', async () => {
    const { counter, errors, setAway } = start();

    setAway(true);
    for (let minutes = 90; minutes >= 0; minutes -= 1) ago(minutes, () => counter.note(team.id));
    await counter.close();
    setAway(false);
    await counter.close();

    expect(errors).toHaveLength(1);
    expect(await lastHour(team)).toBe(60);
  });

  it('are written even when another team was deleted', async () => {
    const counter = requestCounter(database.pool, fail);
    noteTimes(counter, team, 3);
    noteTimes(counter, other, 4);
    await database.prisma.team.delete({ where: { id: other.id } });

    await counter.close();

    expect([await lastHour(team), await lastHour(other)]).toEqual([3, 0]);
  });
});

describe('last used', () => {
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
    async function rounds(
      work: (order: <T>(of: readonly T[]) => T[], fail: (error: Error) => void) => Promise<unknown>,
    ) {
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
});
