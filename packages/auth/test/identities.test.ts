import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type IdentityClaims, type IdentityStore, identityStore, userStore } from '../src/index.js';
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

    expect(await identities.signIn(claimsOf('mallory', more))).toBeNull();

    expect(await database.prisma.user.count()).toBe(before);
  });
});
