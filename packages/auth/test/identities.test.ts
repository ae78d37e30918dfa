import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type IdentityClaims, type IdentityStore, identityStore, sessionStore, userStore } from '../src/index.js';
import { type AuthDatabase, openAuthDatabase } from './auth-database.js';

let database: AuthDatabase;
let identities: IdentityStore;
beforeAll(async () => {
  database = await openAuthDatabase();
  identities = identityStore(database.prisma);
});
afterAll(() => database.close());

const claimsOf = (subject: string, more: Partial<IdentityClaims> = {}): IdentityClaims => ({
  ...{ issuer: 'https://id.test', subject, email: `${subject}@acme.test`, emailVerified: true },
  ...{ firstName: null, lastName: null, displayName: null },
  ...more,
});

describe('a person known by an identity', () => {
  it('is another one at another issuer, unless the address is the same', async () => {
    const here = await identities.signIn(claimsOf('ann'));
    const elsewhere = { issuer: 'https://other.test' };

    const stranger = await identities.signIn(claimsOf('ann', { ...elsewhere, email: 'ann@elsewhere.test' }));
    const same = await identities.signIn(claimsOf('a-n-n', { ...elsewhere, email: 'ANN@acme.test' }));

    expect(stranger?.id).not.toBe(here?.id);
    expect(same?.id).toBe(here?.id);
  });

  it('is made once by many sign-ins at once', async () => {
    const tries = Array.from({ length: 6 }, () => identities.signIn(claimsOf('bob')));

    const people = await Promise.all(tries);

    expect(new Set(people.map((person) => person?.id)).size).toBe(1);
    expect(await database.prisma.userIdentity.count({ where: { subject: 'bob' } })).toBe(1);
  });

  it('has an address that two want at once for one of them only, and both get in', async () => {
    const [one, other] = [await identities.signIn(claimsOf('eve')), await identities.signIn(claimsOf('fay'))];

    const moved = await Promise.all(
      ['eve', 'fay'].map((subject) => identities.signIn(claimsOf(subject, { email: 'wanted@acme.test' }))),
    );

    expect(moved.map((person) => person?.id)).toEqual([one?.id, other?.id]);
    expect(moved.filter((person) => person?.email === 'wanted@acme.test')).toHaveLength(1);
  });

  it('keeps names of which the provider says nothing', async () => {
    const { id } = await userStore(database.prisma).createUser({ email: 'gil@acme.test', displayName: 'Gil' });

    const person = await identities.signIn(claimsOf('gil', { firstName: 'Gilbert', displayName: ' ' }));

    expect(person).toMatchObject({ id, firstName: 'Gilbert', displayName: 'Gil' });
  });

  it('is not another one who was given the address, until an operator parts the two', async () => {
    const first = await identities.signIn(claimsOf('ida'));
    const handedOn = () => identities.signIn(claimsOf('ida-2', { email: 'ida@acme.test' }));
    const known = { issuer: 'https://id.test', subject: 'ida' };

    await expect(handedOn()).rejects.toMatchObject({ reason: 'another_identity' });
    const sessions = sessionStore(database.pool, { idleMs: 60_000, absoluteMs: 60_000 });
    const { secret } = await sessions.start(first.id, null);
    expect(await identities.listIdentities(first)).toEqual([expect.objectContaining(known)]);
    expect(await identities.unlink(first, { ...known, subject: 'bob' })).toBe(false);
    expect(await sessions.find(secret)).not.toBeNull();
    expect(await identities.unlink(first, known)).toBe(true);

    expect(await sessions.find(secret)).toBeNull();
    expect((await handedOn()).id).toBe(first.id);
    await expect(identities.signIn(claimsOf('ida'))).rejects.toMatchObject({ reason: 'another_identity' });
  });

  it('is taken by one of many subjects that come at once with the address of somebody made before', async () => {
    const { id } = await userStore(database.prisma).createUser({ email: 'jo@acme.test' });
    const subjects = Array.from({ length: 6 }, (_, index) => claimsOf(`jo-${index}`, { email: 'jo@acme.test' }));

    const outcomes = await Promise.allSettled(subjects.map((claims) => identities.signIn(claims)));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await database.prisma.userIdentity.count({ where: { userId: id } })).toBe(1);
  });

  it.each([
    ['the Kelvin sign is no k', 'kim@acme.test', '\u212aim@acme.test'],
    ['a long s is no s', 'sam@acme.test', '\u017fam@acme.test'],
    ['an i without a dot is no i', 'ian@acme.test', '\u0131an@acme.test'],
    ['an I with a dot is no i', 'ivy@acme.test', '\u0130vy@acme.test'],
    ['a letter is another in capitals beyond ASCII', '\u00e9va@acme.test', '\u00c9va@acme.test'],
    ['a blank of another script is no blank', 'nia@acme.test', '\u3000nia@acme.test'],
  ])('is found by an address in which %s by nobody else', async (_what, own, other) => {
    const users = userStore(database.prisma);
    const { id } = await users.createUser({ email: own });

    expect(await users.findUser(other)).toBeNull();
    const stranger = await identities.signIn(claimsOf(`of ${other}`, { email: other })).catch(() => null);
    expect(stranger?.id).not.toBe(id);
    expect((await users.findUser(` ${own.replace('acme', 'ACME')} `))?.id).toBe(id);
  });

  it('is gone with the user', async () => {
    const person = await identities.signIn(claimsOf('hal'));
    await database.prisma.user.delete({ where: { id: person?.id as string } });

    expect((await identities.signIn(claimsOf('hal')))?.id).not.toBe(person?.id);
  });
});

describe('somebody new', () => {
  it.each<[string, Partial<IdentityClaims>]>([
    ['without an address', { email: null }],
    ['whose address is not vouched for', { emailVerified: false }],
    ['whose address is none', { email: 'nobody' }],
    ['whose address cannot be stored', { email: 'a\0@acme.test' }],
  ])('%s does not get in, and leaves nothing behind', async (_who, more) => {
    const before = await database.prisma.user.count();

    await expect(identities.signIn(claimsOf('mallory', more))).rejects.toMatchObject({ reason: 'unverified' });

    expect(await database.prisma.user.count()).toBe(before);
  });
});
