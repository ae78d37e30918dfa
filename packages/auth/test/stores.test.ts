import { randomUUID } from 'node:crypto';
import { asUserId } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  countRequests,
  displayNameOf,
  endUser,
  hashSessionSecret,
  type IdentityClaims,
  identityStore,
  lastUsedRecorder,
  mintSessionSecret,
  type RequestCounter,
  requestCounter,
  type SessionStore,
  sessionStore,
  sessionUseRecorder,
  signInCodeStore,
  type TeamRecord,
  TeamRuleError,
  type UserRecord,
  type UserStore,
  unlinkIdentity,
  userStore,
} from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

let database: AuthDatabase;

beforeAll(async () => {
  database = await openAuthDatabase();
});

afterAll(() => database.close());

describe('stores', () => {
  describe('a team', () => {
    it('is created by one of many concurrent attempts', async () => {
      const tries = Array.from({ length: 8 }, () => database.teams.createTeam('wanted'));

      const ends = await Promise.allSettled(tries);

      expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
      for (const end of ends) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(TeamRuleError);
    });
  });

  describe('a person', () => {
    // The rule stands once for programs, and once for the triggers that tell teams about their members.
    it.each([
      ['Ann L', 'Ann', 'Lee', 'Ann L'],
      ['', 'Ann', 'Lee', 'Ann Lee'],
      ['', 'Ann', '', 'Ann'],
      ['', '', 'Lee', 'Lee'],
      ['', '', '', 'ann-of-names@example.org'],
    ])(
      'with the names "%s", "%s" and "%s" is called %s in answers and in events',
      async (shown, first, last, called) => {
        const names = { displayName: shown, firstName: first, lastName: last, email: 'ann-of-names@example.org' };

        const { rows } = await database.pool.query(
          'SELECT app_user_name(jsonb_populate_record(NULL::app_user, $1)) AS called',
          [JSON.stringify({ display_name: shown, first_name: first, last_name: last, email: names.email })],
        );

        expect([displayNameOf(names), rows[0].called]).toEqual([called, called]);
      },
    );
  });

  describe('the tokens of a team', () => {
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

    it('have audit entries with the time of the database, as do members who are taken out', async () => {
      const team = await database.teams.createTeam('timed');
      const users = userStore(database.prisma);
      const user = await users.createUser({ email: 'timed@acme.test' });
      await users.saveMember(team, user, 'member');

      const doNotFake = ['nextTick', 'setImmediate', 'queueMicrotask', 'setTimeout', 'setInterval'] as const;
      jest.useFakeTimers({ now: Date.now() + 3_600_000, doNotFake: [...doNotFake] });
      try {
        await database.tokens.issueToken(team, { name: 'ci' });
        await database.prisma.$transaction((tx) => endUser(tx, user, 'ops'));
      } finally {
        jest.useRealTimers();
      }

      const { rows } = await database.pool.query(
        `SELECT action, created_at <= clock_timestamp() AS past FROM audit_entry WHERE team_id = $1 ORDER BY id`,
        [team.id],
      );
      expect(rows).toEqual([
        { action: 'dns_token.create', past: true },
        { action: 'member.remove', past: true },
      ]);
    });
  });
});

describe('the request counts of a team', () => {
  type Statement = { readonly text: string; readonly values: unknown[] };

  let team: TeamRecord;
  let other: TeamRecord;
  beforeEach(async () => {
    const slug = () => `t-${randomUUID().slice(0, 8)}`;
    [team, other] = [await database.teams.createTeam(slug()), await database.teams.createTeam(slug())];
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

  it('cover the last sixty minutes, even when another team was deleted', async () => {
    const counter = requestCounter(database.pool, fail);
    for (const minutes of [61, 59, 0]) ago(minutes, () => noteTimes(counter, team, minutes + 1));
    ago(0, () => noteTimes(counter, other, 4));
    await database.prisma.team.delete({ where: { id: other.id } });

    await counter.close();

    expect([await lastHour(team), await lastHour(other)]).toEqual([61, 0]);
  });

  it('are complete once the counter is closed, also if a statement was under way', async () => {
    const order: string[] = [];
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const query = async (statement: Statement): Promise<void> => {
      order.push('begun');
      await held;
      await database.pool.query(statement);
      order.push('written');
    };
    jest.useFakeTimers({
      doNotFake: ['Date', 'performance', 'nextTick', 'setImmediate', 'queueMicrotask', 'setTimeout'],
    });
    const counter = requestCounter({ query } as unknown as Pool, fail);
    ago(0, () => noteTimes(counter, team, 1));
    await jest.advanceTimersByTimeAsync(10_000);
    jest.useRealTimers();

    const closed = counter.close().then(() => order.push('closed'));
    await new Promise(setImmediate);
    goOn();
    await closed;

    expect([order, await lastHour(team)]).toEqual([['begun', 'written', 'closed'], 1]);
  });

  it('count a request once, though its statement is repeated because its outcome was unknown', async () => {
    const errors: Error[] = [];
    let statements = 0;
    const query = async (statement: Statement): Promise<void> => {
      await database.pool.query(statement);
      statements += 1;
      if (statements === 1) throw new Error('The connection was lost.');
    };
    const counter = requestCounter({ query } as unknown as Pool, (error) => errors.push(error));
    ago(0, () => noteTimes(counter, team, 3));

    await counter.close();
    await counter.close();

    expect([statements, errors.length, await lastHour(team)]).toEqual([2, 1, 3]);
  });
});

describe('last used', () => {
  let ids: string[];
  beforeAll(async () => {
    const team = await database.teams.createTeam('used');
    ids = [];
    for (let at = 0; at < 5; at += 1) ids.push((await database.tokens.issueToken(team, { name: 'ci' })).record.id);
  });
  beforeEach(() => database.pool.query('UPDATE dns_token SET last_used_at = NULL'));

  describe('the last use of tokens', () => {
    it('never moves backwards', async () => {
      const ahead = new Date(Date.now() + 60_000);
      await database.pool.query('UPDATE dns_token SET last_used_at = $2 WHERE id = $1', [ids[1], ahead]);
      const recorder = lastUsedRecorder(database.pool, fail);

      recorder.note(ids[1] as string);
      await recorder.close();

      expect(await lastUse(1)).toEqual(ahead);
    });
  });

  it('of sessions does not deadlock, nor with the revocation of all sessions of their user', async () => {
    // Enough rows for two statements to overlap.
    const { rows } = await database.pool.query<{ id: string; userId: string }>(
      `WITH often AS (INSERT INTO app_user (email) VALUES ('often@acme.test') RETURNING id)
       INSERT INTO session (user_id, hash, idle_expires_at, expires_at)
       SELECT often.id, sha256(n::text::bytea), now() + interval '1 h', now() + interval '2 h'
       FROM often, generate_series(1, 500) AS n RETURNING id, user_id AS "userId"`,
    );
    const ids = rows.map(({ id }) => id);
    const userId = asUserId(rows[0]?.userId as string);
    const times = { idleMs: 7_200_000, absoluteMs: 7_200_000 };
    const store = sessionStore(database.pool, database.prisma, times);
    const errors: unknown[] = [];
    const use = async (order: readonly string[]): Promise<void> => {
      const recorder = sessionUseRecorder(database.pool, times, (error) => errors.push(error));
      for (const id of order) recorder.note(id);
      await Promise.all([recorder.close(), store.revokeAll(userId).catch((error) => errors.push(error))]);
      await database.pool.query('UPDATE session SET revoked_at = NULL WHERE id = $1', [ids[0]]);
    };

    for (let round = 0; round < 3; round += 1) {
      const orders = [ids, ids.toReversed(), [...ids.slice(250), ...ids.slice(0, 250)]];
      await Promise.all([...orders, ...orders].map(use));
    }

    expect(errors).toEqual([]);
    const soon = new Date(Date.now() + 5_400_000);
    expect(await database.prisma.session.count({ where: { userId, idleExpiresAt: { lt: soon } } })).toBe(0);
  });

  async function lastUse(at: number): Promise<Date | null> {
    return (await database.prisma.dnsToken.findUniqueOrThrow({ where: { id: ids[at] as string } })).lastUsedAt;
  }

  function fail(error: Error): never {
    throw error;
  }
});

describe('sessions', () => {
  const HOUR_MS = 3_600_000;
  const times = { idleMs: 12 * HOUR_MS, absoluteMs: 168 * HOUR_MS };

  let users: UserStore;
  let sessions: SessionStore;
  let ann: UserRecord;
  beforeAll(async () => {
    users = userStore(database.prisma);
    sessions = sessionStore(database.pool, database.prisma, times);
    ann = await users.createUser({ email: 'Ann@Acme.test', displayName: 'Ann' });
  });

  const rowOf = (secret: string) =>
    database.prisma.session.findUniqueOrThrow({ where: { hash: new Uint8Array(hashSessionSecret(secret)) } });
  /** Moves a session back in time, as if it had been started and used that much earlier. */
  const age = (secret: string, ms: number) =>
    database.pool.query(
      `UPDATE session SET created_at = created_at - $2 * interval '1 ms', last_seen_at = last_seen_at - $2 * interval '1 ms',
       idle_expires_at = idle_expires_at - $2 * interval '1 ms', expires_at = expires_at - $2 * interval '1 ms'
     WHERE hash = $1`,
      [hashSessionSecret(secret), ms],
    );

  describe('a session', () => {
    it('is stored without the text of its cookie', async () => {
      const { secret } = await sessions.start(ann.id, null);

      const { rows } = await database.pool.query('SELECT session::text AS row FROM session');

      const texts = [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret, 'base64url').toString('hex')];
      for (const text of texts) expect(JSON.stringify(rows)).not.toContain(text);
    });

    it('ends after the idle time without use', async () => {
      const { secret } = await sessions.start(ann.id, null);
      await age(secret, times.idleMs - 60_000);
      expect(await sessions.find(secret)).not.toBeNull();

      await age(secret, 61_000);

      expect(await sessions.find(secret)).toBeNull();
    });

    it('ends at its absolute expiry, however much it is used', async () => {
      const { secret } = await sessions.start(ann.id, null);
      const pauseMs = 10 * HOUR_MS;
      for (let passedMs = pauseMs; passedMs < times.absoluteMs; passedMs += pauseMs) {
        await age(secret, pauseMs);
        await use(secret);
      }
      expect(await sessions.find(secret)).not.toBeNull();

      await age(secret, pauseMs);
      await use(secret);

      expect(await sessions.find(secret)).toBeNull();
    });

    it('ends when it is revoked, without affecting others', async () => {
      const [one, other] = [await sessions.start(ann.id, null), await sessions.start(ann.id, null)];

      await sessions.revoke(one.secret);
      await sessions.revoke(mintSessionSecret());

      expect(await sessions.find(one.secret)).toBeNull();
      expect(await sessions.find(other.secret)).not.toBeNull();
    });
  });

  /** Records one request with the session. */
  async function use(secret: string): Promise<void> {
    const recorder = sessionUseRecorder(database.pool, times, (error) => {
      throw error;
    });
    recorder.note((await rowOf(secret)).id);
    await recorder.close();
  }

  describe('a person with 20 sessions', () => {
    const active = (userId: UserRecord['id']) => sessions.list(userId, { limit: 100, after: null });

    it('keeps the newest 20 when another starts, and other people keep theirs', async () => {
      const [eve, bob] = [
        await users.createUser({ email: 'eve@acme.test' }),
        await users.createUser({ email: 'b@acme.test' }),
      ];
      const ofBob = await sessions.start(bob.id, null);
      await age(ofBob.secret, HOUR_MS);
      const started = [];
      for (let time = 0; time < 21; time += 1) started.push((await sessions.start(eve.id, null)).secret);
      const [oldest, ...others] = started;

      expect(await sessions.find(oldest as string)).toBeNull();
      for (const secret of [...others, ofBob.secret]) expect(await sessions.find(secret)).not.toBeNull();
      expect(await active(eve.id)).toHaveLength(20);
    });

    it('loses the oldest to a session of the command line', async () => {
      const hal = await users.createUser({ email: 'hal@acme.test' });
      const started = [];
      for (let time = 0; time < 20; time += 1) started.push((await sessions.start(hal.id, null)).secret);
      const newest = await sessions.find(started.at(-1) as string);
      const codes = signInCodeStore(database.prisma, times);
      const request = { codeChallenge: 'c'.repeat(43), redirectUri: 'http://127.0.0.1:1/' };
      const all = await Promise.all([1, 2].map(() => codes.issue(newest?.id as string, { ...request, name: 'CLI' })));

      const redeemed = await Promise.all(all.map((code) => codes.redeem(code as string, request, '')));

      for (const session of redeemed) expect(await sessions.find(session?.secret as string)).not.toBeNull();
      expect(await sessions.find(started[0] as string)).toBeNull();
      expect((await active(hal.id)).length).toBeLessThanOrEqual(21);
    });
  });
});

describe('a sign-in', () => {
  let identities: ReturnType<typeof identityStore>;
  beforeAll(() => {
    identities = identityStore(database.prisma);
  });

  const claimsOf = (subject: string, more: Partial<IdentityClaims> = {}): IdentityClaims => ({
    issuer: 'https://id.test',
    subject,
    email: `${subject}@id.test`,
    emailVerified: true,
    firstName: null,
    lastName: null,
    displayName: null,
    ...more,
  });

  it('finds another person at another issuer unless the address is the same', async () => {
    const here = await identities.signIn(claimsOf('ann'));
    const elsewhere = { issuer: 'https://other.test' };

    const stranger = await identities.signIn(claimsOf('ann', { ...elsewhere, email: 'ann@elsewhere.test' }));
    const same = await identities.signIn(claimsOf('a-n-n', { ...elsewhere, email: 'ANN@id.test' }));

    expect(stranger?.id).not.toBe(here?.id);
    expect(same?.id).toBe(here?.id);
  });

  it('creates one person for many concurrent attempts', async () => {
    const tries = Array.from({ length: 6 }, () => identities.signIn(claimsOf('bob')));

    const people = await Promise.all(tries);

    expect(new Set(people.map((person) => person?.id)).size).toBe(1);
    expect(await database.prisma.userIdentity.count({ where: { subject: 'bob' } })).toBe(1);
  });

  it('keeps names that the provider does not state', async () => {
    const { id } = await userStore(database.prisma).createUser({ email: 'gil@id.test', displayName: 'Gil' });

    const person = await identities.signIn(claimsOf('gil', { firstName: 'Gilbert', displayName: ' ' }));

    expect(person).toMatchObject({ id, firstName: 'Gilbert', displayName: 'Gil' });
  });

  it('is refused for a new subject with a known address until an operator unlinks the old one', async () => {
    const first = await identities.signIn(claimsOf('ida'));
    const handedOn = () => identities.signIn(claimsOf('ida-2', { email: 'ida@id.test' }));
    const known = { issuer: 'https://id.test', subject: 'ida' };

    await expect(handedOn()).rejects.toMatchObject({ reason: 'another_identity' });
    const sessions = sessionStore(database.pool, database.prisma, { idleMs: 60_000, absoluteMs: 60_000 });
    const { secret } = await sessions.start(first.id, null);
    expect(await identities.listIdentities(first.id)).toEqual([expect.objectContaining(known)]);
    expect(await unlinkIdentity(database.prisma, first.id, { ...known, subject: 'bob' })).toBe(false);
    expect(await sessions.find(secret)).not.toBeNull();
    expect(await unlinkIdentity(database.prisma, first.id, known)).toBe(true);

    expect(await sessions.find(secret)).toBeNull();
    expect((await handedOn()).id).toBe(first.id);
    await expect(identities.signIn(claimsOf('ida'))).rejects.toMatchObject({ reason: 'another_identity' });
  });

  it("links one of many concurrent subjects to an existing person's address", async () => {
    const { id } = await userStore(database.prisma).createUser({ email: 'jo@id.test' });
    const subjects = Array.from({ length: 6 }, (_, index) => claimsOf(`jo-${index}`, { email: 'jo@id.test' }));

    const outcomes = await Promise.allSettled(subjects.map((claims) => identities.signIn(claims)));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await database.prisma.userIdentity.count({ where: { userId: id } })).toBe(1);
  });

  it.each([
    ['the Kelvin sign is not a k', 'kim@id.test', '\u212aim@id.test'],
    ['the case of a letter beyond ASCII differs', '\u00e9va@id.test', '\u00c9va@id.test'],
    ['a space of another script is not trimmed', 'nia@id.test', '\u3000nia@id.test'],
  ])('does not match an address where %s', async (_what, own, other) => {
    const users = userStore(database.prisma);
    const { id } = await users.createUser({ email: own });

    expect(await users.findUser(other)).toBeNull();
    const stranger = await identities.signIn(claimsOf(`of ${other}`, { email: other })).catch(() => null);
    expect(stranger?.id).not.toBe(id);
    expect((await users.findUser(` ${own.replace('id', 'ID')} `))?.id).toBe(id);
  });
});
