import { clusterLimits, isEmail, normalEmail } from '@corral/contracts';

/** What an identity provider says of a person, its signature checked. */
export interface IdentityClaims {
  readonly issuer: string;
  /** Names the person for good, at this issuer. */
  readonly subject: string;
  readonly email: string | null;
  /** Whether the provider vouches that the address is the person's. */
  readonly emailVerified: boolean;
  /** Null: it does not say, and what is known stays. */
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly displayName: string | null;
}

export interface Person {
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly displayName: string;
}
export type PersonChanges = Partial<Omit<Person, 'id'>>;

export type IdentityDecision =
  /** The identity is known. */
  | { readonly kind: 'update'; readonly id: string; readonly changes: PersonChanges }
  /** The person is known by the address, and from now on by the identity. */
  | { readonly kind: 'link'; readonly id: string; readonly changes: PersonChanges }
  | { readonly kind: 'create'; readonly person: PersonChanges & { readonly email: string } }
  | { readonly kind: 'refuse'; readonly reason: RefusedIdentity };

/**
 * Why an identity gets nobody in. `unverified`: the provider vouches for no address. `another_identity`: whoever has the
 * address is known at the same issuer as somebody else.
 */
export type RefusedIdentity = 'unverified' | 'another_identity';

/** Whom the vouched address belongs to. */
export interface Holder {
  readonly person: Person;
  /** Whether the issuer knows them already, by another subject. */
  readonly isKnownToIssuer: boolean;
}

/** The address that the provider vouches for; null when there is none that could be a person's here. */
export function vouchedEmail({ email, emailVerified }: IdentityClaims): string | null {
  const address = normalEmail(email ?? '');
  return emailVerified && isEmail(address) && !unstorable.test(address) ? address : null;
}

/**
 * Whose sign-in it is. The identity comes first, for it stays when an address changes hands; an address counts only if
 * the provider vouches for it, else anybody could take over an account by claiming its address there. And it leads to a
 * person once per issuer: a second subject is a second person, to whom the address was handed on.
 *
 * @param known whom the identity belongs to
 */
export function decideIdentity(
  claims: IdentityClaims,
  { known, holder }: { readonly known: Person | null; readonly holder: Holder | null },
): IdentityDecision {
  const email = vouchedEmail(claims);
  if (known !== null) {
    // An address that somebody else has stays theirs.
    const moved = email !== null && holder === null ? { email } : {};
    return { kind: 'update', id: known.id, changes: changesOf(known, { ...moved, ...namesOf(claims) }) };
  }
  if (email === null) return { kind: 'refuse', reason: 'unverified' };
  if (holder?.isKnownToIssuer) return { kind: 'refuse', reason: 'another_identity' };
  if (holder !== null) {
    const { person } = holder;
    return { kind: 'link', id: person.id, changes: changesOf(person, namesOf(claims)) };
  }
  return { kind: 'create', person: { email, ...namesOf(claims) } };
}

function namesOf(claims: IdentityClaims): PersonChanges {
  const fields = ['firstName', 'lastName', 'displayName'] as const;
  return Object.fromEntries(
    fields.map((field) => [field, cleanName(claims[field] ?? '')]).filter(([, name]) => name !== ''),
  );
}

/** Control characters, and halves of surrogate pairs, which Postgres does not take. */
const unstorable = /[\p{Cc}\p{Cs}]/u;

function cleanName(name: string): string {
  const line = name.replaceAll(new RegExp(unstorable, 'gu'), ' ').replaceAll(/\s+/g, ' ').trim();
  return [...line].slice(0, clusterLimits.personNameCharacters).join('').trim();
}

function changesOf(person: Person, wanted: PersonChanges): PersonChanges {
  return Object.fromEntries(
    Object.entries(wanted).filter(([field, value]) => person[field as keyof PersonChanges] !== value),
  );
}
