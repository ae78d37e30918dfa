import { asUserId } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  hashSessionSecret,
  mintSessionSecret,
  type SessionStore,
  sessionStore,
  sessionUseRecorder,
  signInCodeStore,
  type UserRecord,
  type UserStore,
  userStore,
} from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

const HOUR_MS = 3_600_000;
const times = { idleMs: 12 * HOUR_MS, absoluteMs: 168 * HOUR_MS };

let database: AuthDatabase;
let users: UserStore;
let sessions: SessionStore;
let ann: UserRecord;
beforeAll(async () => {
  database = await openAuthDatabase();
  users = userStore(database.prisma);
  sessions = sessionStore(database.pool, times);
  ann = await users.createUser({ email: 'Ann@Acme.test', displayName: 'Ann' });
});
afterAll(() => database.close());

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
  it('is found by its cookie, with its user and expiry times', async () => {
    const before = Date.now();
    const { secret, expiresAt } = await sessions.start(ann.id, null);

    const session = await sessions.find(secret);

    expect(session).toMatchObject({ userId: ann.id, email: 'ann@acme.test', displayName: 'Ann', memberships: [] });
    expect(session?.expiresAt).toEqual(expiresAt);
    expect(Math.abs(expiresAt.getTime() - before - times.absoluteMs)).toBeLessThan(60_000);
    expect(Math.abs(Number(session?.idleExpiresAt) - before - times.idleMs)).toBeLessThan(60_000);
  });

  it('is stored without the text of its cookie', async () => {
    const { secret } = await sessions.start(ann.id, null);

    const { rows } = await database.pool.query('SELECT session::text AS row FROM session');

    const texts = [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret, 'base64url').toString('hex')];
    for (const text of texts) expect(JSON.stringify(rows)).not.toContain(text);
  });

  it('is not found by a secret that was never issued', async () => {
    expect(await sessions.find(mintSessionSecret())).toBeNull();
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

  it('has no idle time beyond its absolute expiry', async () => {
    const short = sessionStore(database.pool, { idleMs: 10 * HOUR_MS, absoluteMs: HOUR_MS });

    const session = await short.find((await short.start(ann.id, null)).secret);

    expect(session?.idleExpiresAt).toEqual(session?.expiresAt);
  });

  it('ends when it is revoked, without affecting others', async () => {
    const [one, other] = [await sessions.start(ann.id, null), await sessions.start(ann.id, null)];

    await sessions.revoke(one.secret);
    await sessions.revoke(mintSessionSecret());

    expect(await sessions.find(one.secret)).toBeNull();
    expect(await sessions.find(other.secret)).not.toBeNull();
  });

  it('ends with the sign-in that replaces it', async () => {
    const first = await sessions.start(ann.id, null);

    const second = await sessions.start(ann.id, first.secret);

    expect(second.secret).not.toBe(first.secret);
    expect(await sessions.find(first.secret)).toBeNull();
    expect((await sessions.find(second.secret))?.userId).toBe(ann.id);
  });

  it("contains the user's current teams, ordered by slug", async () => {
    const ben = await users.createUser({ email: 'ben@acme.test' });
    const { secret } = await sessions.start(ben.id, null);
    const [zeta, alpha] = [await database.teams.createTeam('zeta'), await database.teams.createTeam('alpha')];
    const found = async () =>
      (await sessions.find(secret))?.memberships.map(({ teamId, slug, role }) => [teamId, slug, role]);

    await users.saveMember(zeta, ben, 'admin');
    await users.saveMember(alpha, ben, 'member');
    expect(await found()).toEqual([
      [alpha.id, 'alpha', 'member'],
      [zeta.id, 'zeta', 'admin'],
    ]);

    await users.saveMember(zeta, ben, 'member');
    await database.prisma.membership.deleteMany({ where: { teamId: alpha.id } });
    expect(await found()).toEqual([[zeta.id, 'zeta', 'member']]);
  });

  it.each([
    [{ displayName: 'Display', firstName: 'First', lastName: 'Last' }, 'Display'],
    [{ firstName: 'First', lastName: 'Last' }, 'First Last'],
    [{ lastName: 'Last' }, 'Last'],
    [{}, 'the address'],
  ])('shows the best available name for a user with %j', async (names, shown) => {
    const email = `user-${Math.random()}@acme.test`;
    const user = await database.prisma.user.create({ data: { email, ...names } });

    const session = await sessions.find((await sessions.start(asUserId(user.id), null)).secret);

    expect(session?.displayName).toBe(shown === 'the address' ? email : shown);
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

  it('loses none by a sign-in that replaces one, or when some have ended', async () => {
    const fay = await users.createUser({ email: 'fay@acme.test' });
    const started = [];
    for (let time = 0; time < 20; time += 1) started.push((await sessions.start(fay.id, null)).secret);
    const [oldest, second, third] = started as [string, string, string];

    await sessions.start(fay.id, third);
    await sessions.revoke(second);
    await sessions.start(fay.id, null);

    expect(await sessions.find(oldest)).not.toBeNull();
    expect(await active(fay.id)).toHaveLength(20);
  });

  it('has about 20 after many concurrent sign-ins, and 20 after the next', async () => {
    const gus = await users.createUser({ email: 'gus@acme.test' });
    await Promise.all(Array.from({ length: 60 }, () => sessions.start(gus.id, null)));

    await sessions.start(gus.id, null);

    expect(await active(gus.id)).toHaveLength(20);
  });

  it('loses the oldest to a session of the command line', async () => {
    const hal = await users.createUser({ email: 'hal@acme.test' });
    const started = [];
    for (let time = 0; time < 20; time += 1) started.push((await sessions.start(hal.id, null)).secret);
    const newest = await sessions.find(started.at(-1) as string);
    const codes = signInCodeStore(database.pool, times);
    const request = { codeChallenge: 'c'.repeat(43), redirectUri: 'http://127.0.0.1:1/' };
    const all = await Promise.all([1, 2].map(() => codes.issue(newest?.id as string, { ...request, name: 'CLI' })));

    const redeemed = await Promise.all(all.map((code) => codes.redeem(code as string, request, '')));

    for (const session of redeemed) expect(await sessions.find(session?.secret as string)).not.toBeNull();
    expect(await sessions.find(started[0] as string)).toBeNull();
    expect((await active(hal.id)).length).toBeLessThanOrEqual(21);
  });
});

describe('the use of a session', () => {
  it('extends its idle expiry and its last-seen time', async () => {
    const { secret } = await sessions.start(ann.id, null);
    await age(secret, HOUR_MS);
    const before = await rowOf(secret);

    await use(secret);

    const after = await rowOf(secret);
    expect(after.idleExpiresAt.getTime() - before.idleExpiresAt.getTime()).toBeGreaterThan(HOUR_MS - 60_000);
    expect(after.lastSeenAt.getTime()).toBeGreaterThan(before.lastSeenAt.getTime());
    expect(after.expiresAt).toEqual(before.expiresAt);
  });

  it('never extends its idle expiry beyond the absolute one', async () => {
    const { secret } = await sessions.start(ann.id, null);
    await age(secret, times.absoluteMs - HOUR_MS);

    await use(secret);

    const { idleExpiresAt, expiresAt } = await rowOf(secret);
    expect(idleExpiresAt).toEqual(expiresAt);
  });
});

describe('a user', () => {
  it('is the same person in any spelling of the address', async () => {
    expect(await users.findUser(' ANN@acme.TEST ')).toEqual(ann);
    await expect(users.createUser({ email: 'ANN@acme.test' })).rejects.toThrow('already exists');
  });

  it.each(['', 'ann', 'ann@', '@acme.test', 'a b@acme.test', 'a@b@c', `${'a'.repeat(250)}@b.cd`])(
    'does not have the address %j',
    async (email) => {
      await expect(users.createUser({ email })).rejects.toThrow('is not an e-mail address');
    },
  );

  it('is created by one of many concurrent attempts', async () => {
    const tries = Array.from({ length: 8 }, () => users.createUser({ email: 'wanted@acme.test' }));

    const ends = await Promise.allSettled(tries);

    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
  });

  it('is listed among the members of a team, ordered by address', async () => {
    const team = await database.teams.createTeam('listed');
    for (const [email, role] of [
      ['z@listed.test', 'admin'],
      ['a@listed.test', 'member'],
    ] as const) {
      await users.saveMember(team, await users.createUser({ email }), role);
    }

    expect((await users.listMembers(team)).map(({ email, role }) => [email, role])).toEqual([
      ['a@listed.test', 'member'],
      ['z@listed.test', 'admin'],
    ]);
  });
});
