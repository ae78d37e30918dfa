import { asUserId, isShownName } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decideIdentity, type Holder, type IdentityClaims, type Person } from './identity-rules.js';

const person = (id: string, email: string): Person => ({
  id: asUserId(id),
  email,
  firstName: '',
  lastName: '',
  displayName: '',
});
const ann = person('ann', 'ann@acme.test');
const bob = person('bob', 'bob@acme.test');
const claims: IdentityClaims = {
  issuer: 'https://id.test',
  subject: 'ann',
  email: 'Ann@Acme.test',
  emailVerified: true,
  firstName: null,
  lastName: null,
  displayName: null,
};

const free = (person: Person): Holder => ({ person, isKnownToIssuer: false });
const taken = (person: Person): Holder => ({ person, isKnownToIssuer: true });

describe('decideIdentity', () => {
  const moved = { ...claims, email: 'new@acme.test' };
  const folded = 'an\u212a@acme.test';
  const unchanged = { kind: 'update', id: 'ann', changes: {} };
  const refused = (reason: string) => ({ kind: 'refuse', reason });
  const created = (email: string) => ({ kind: 'create', person: { email } });
  const updated = { ...unchanged, changes: { email: 'new@acme.test' } };
  it.each<[string, IdentityClaims, Person | null, Holder | null, object]>([
    ['a known identity with its address', claims, ann, taken(ann), unchanged],
    ['a known identity with a free address', moved, ann, null, updated],
    ['a known identity with a taken address', { ...claims, email: 'bob@acme.test' }, ann, taken(bob), unchanged],
    ['a known identity with an unverified address', { ...moved, emailVerified: false }, ann, null, unchanged],
    ['a known identity without an address', { ...claims, email: null }, ann, null, unchanged],
    ['a new identity with a known address', claims, null, free(ann), { kind: 'link', id: 'ann', changes: {} }],
    ['a second identity of the issuer with a known address', claims, null, taken(ann), refused('another_identity')],
    ['an address like a known one after case folding', { ...claims, email: folded }, null, null, created(folded)],
    ['a new identity with a new address', claims, null, null, created('ann@acme.test')],
    [
      'a new identity with an unverified address',
      { ...claims, emailVerified: false },
      null,
      null,
      refused('unverified'),
    ],
  ])('decides for %s', (_what, said, known, holder, decision) => {
    expect(decideIdentity(said, { known, holder })).toEqual(decision);
  });

  it('ignores unverified addresses', () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.constant(ann)), (email, known) => {
        const decision = decideIdentity({ ...claims, email, emailVerified: false }, { known, holder: null });

        expect(decision).toEqual(
          known === null ? { kind: 'refuse', reason: 'unverified' } : { kind: 'update', id: 'ann', changes: {} },
        );
      }),
    );
  });

  it('returns names that can be stored and fit a line, whatever the provider sends', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (displayName) => {
        const decision = decideIdentity({ ...claims, displayName }, { known: ann, holder: taken(ann) });
        const name = (decision as { changes: { displayName?: string } }).changes.displayName;

        expect(name ?? 'none').toMatch(/^[^\p{Cc}\p{Cs}]{1,200}$/u);
        expect(isShownName(name ?? 'none')).toBe(true);
      }),
    );
  });
});
