import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type IdentityClaims,
  type IdentityStore,
  identityStore,
  sessionStore,
  unlinkIdentity,
  userStore,
} from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

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
