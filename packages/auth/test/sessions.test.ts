import { asUserId } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  hashSessionSecret,
  type IdentityClaims,
  type IdentityStore,
  identityStore,
  mintSessionSecret,
  type SessionStore,
  sessionStore,
  sessionUseRecorder,
  signInCodeStore,
  type UserRecord,
  type UserStore,
  unlinkIdentity,
  userStore,
} from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

describe('sessions', () => {
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
});

describe('identities', () => {
  let database: AuthDatabase;
  let identities: IdentityStore;
  beforeAll(async () => {
    database = await openAuthDatabase();
    identities = identityStore(database.prisma);
  });
  afterAll(() => database.close());

  const claimsOf = (subject: string, more: Partial<IdentityClaims> = {}): IdentityClaims => ({
    issuer: 'https://id.test',
    subject,
    email: `${subject}@acme.test`,
    emailVerified: true,
    firstName: null,
    lastName: null,
    displayName: null,
    ...more,
  });

  describe('a sign-in', () => {
    it('finds another person at another issuer unless the address is the same', async () => {
      const here = await identities.signIn(claimsOf('ann'));
      const elsewhere = { issuer: 'https://other.test' };

      const stranger = await identities.signIn(claimsOf('ann', { ...elsewhere, email: 'ann@elsewhere.test' }));
      const same = await identities.signIn(claimsOf('a-n-n', { ...elsewhere, email: 'ANN@acme.test' }));

      expect(stranger?.id).not.toBe(here?.id);
      expect(same?.id).toBe(here?.id);
    });

    it('creates one person for many concurrent attempts', async () => {
      const tries = Array.from({ length: 6 }, () => identities.signIn(claimsOf('bob')));

      const people = await Promise.all(tries);

      expect(new Set(people.map((person) => person?.id)).size).toBe(1);
      expect(await database.prisma.userIdentity.count({ where: { subject: 'bob' } })).toBe(1);
    });

    it('succeeds for both when two people move to the same address, which one of them gets', async () => {
      const [one, other] = [await identities.signIn(claimsOf('eve')), await identities.signIn(claimsOf('fay'))];

      const moved = await Promise.all(
        ['eve', 'fay'].map((subject) => identities.signIn(claimsOf(subject, { email: 'wanted@acme.test' }))),
      );

      expect(moved.map((person) => person?.id)).toEqual([one?.id, other?.id]);
      expect(moved.filter((person) => person?.email === 'wanted@acme.test')).toHaveLength(1);
    });

    it('keeps names that the provider does not state', async () => {
      const { id } = await userStore(database.prisma).createUser({ email: 'gil@acme.test', displayName: 'Gil' });

      const person = await identities.signIn(claimsOf('gil', { firstName: 'Gilbert', displayName: ' ' }));

      expect(person).toMatchObject({ id, firstName: 'Gilbert', displayName: 'Gil' });
    });

    it('is refused for a new subject with a known address until an operator unlinks the old one', async () => {
      const first = await identities.signIn(claimsOf('ida'));
      const handedOn = () => identities.signIn(claimsOf('ida-2', { email: 'ida@acme.test' }));
      const known = { issuer: 'https://id.test', subject: 'ida' };

      await expect(handedOn()).rejects.toMatchObject({ reason: 'another_identity' });
      const sessions = sessionStore(database.pool, { idleMs: 60_000, absoluteMs: 60_000 });
      const { secret } = await sessions.start(first.id, null);
      expect(await identities.listIdentities(first)).toEqual([expect.objectContaining(known)]);
      expect(await unlinkIdentity(database.prisma, first, { ...known, subject: 'bob' })).toBe(false);
      expect(await sessions.find(secret)).not.toBeNull();
      expect(await unlinkIdentity(database.prisma, first, known)).toBe(true);

      expect(await sessions.find(secret)).toBeNull();
      expect((await handedOn()).id).toBe(first.id);
      await expect(identities.signIn(claimsOf('ida'))).rejects.toMatchObject({ reason: 'another_identity' });
    });

    it("links one of many concurrent subjects to an existing person's address", async () => {
      const { id } = await userStore(database.prisma).createUser({ email: 'jo@acme.test' });
      const subjects = Array.from({ length: 6 }, (_, index) => claimsOf(`jo-${index}`, { email: 'jo@acme.test' }));

      const outcomes = await Promise.allSettled(subjects.map((claims) => identities.signIn(claims)));

      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await database.prisma.userIdentity.count({ where: { userId: id } })).toBe(1);
    });

    it.each([
      ['the Kelvin sign is not a k', 'kim@acme.test', '\u212aim@acme.test'],
      ['a long s is not an s', 'sam@acme.test', '\u017fam@acme.test'],
      ['a dotless i is not an i', 'ian@acme.test', '\u0131an@acme.test'],
      ['a dotted I is not an i', 'ivy@acme.test', '\u0130vy@acme.test'],
      ['the case of a letter beyond ASCII differs', '\u00e9va@acme.test', '\u00c9va@acme.test'],
      ['a space of another script is not trimmed', 'nia@acme.test', '\u3000nia@acme.test'],
    ])('does not match an address where %s', async (_what, own, other) => {
      const users = userStore(database.prisma);
      const { id } = await users.createUser({ email: own });

      expect(await users.findUser(other)).toBeNull();
      const stranger = await identities.signIn(claimsOf(`of ${other}`, { email: other })).catch(() => null);
      expect(stranger?.id).not.toBe(id);
      expect((await users.findUser(` ${own.replace('acme', 'ACME')} `))?.id).toBe(id);
    });

    it('creates a new person after the user was deleted', async () => {
      const person = await identities.signIn(claimsOf('hal'));
      await database.prisma.user.delete({ where: { id: person?.id as string } });

      expect((await identities.signIn(claimsOf('hal')))?.id).not.toBe(person?.id);
    });
  });

  describe('a sign-in by an unknown person', () => {
    it.each<[string, Partial<IdentityClaims>]>([
      ['without an address', { email: null }],
      ['with an unverified address', { emailVerified: false }],
      ['with an invalid address', { email: 'nobody' }],
      ['with an address that cannot be stored', { email: 'a\0@acme.test' }],
    ])('%s is refused and leaves nothing behind', async (_who, more) => {
      const before = await database.prisma.user.count();

      await expect(identities.signIn(claimsOf('mallory', more))).rejects.toMatchObject({ reason: 'unverified' });

      expect(await database.prisma.user.count()).toBe(before);
    });
  });
});
