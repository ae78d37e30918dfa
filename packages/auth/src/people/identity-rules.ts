import { clusterLimits, isEmail, normalEmail, shownNameOf, type UserId } from '@corral/contracts';

/** Verified claims of an identity provider about a person. */
export interface IdentityClaims {
  readonly issuer: string;
  /** Stable id of the person at this issuer. */
  readonly subject: string;
  readonly email: string | null;
  /** Whether the provider has verified the address. */
  readonly emailVerified: boolean;
  /** Null when the provider does not state it; the known value then stays. */
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly displayName: string | null;
}

export interface Person {
  readonly id: UserId;
  /** Lower case. */
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly displayName: string;
}
type PersonChanges = Partial<Omit<Person, 'id'>>;

export type IdentityDecision =
  /** The identity is known. */
  | { readonly kind: 'update'; readonly id: UserId; readonly changes: PersonChanges }
  /** The person is known by the address and gets linked to the identity. */
  | { readonly kind: 'link'; readonly id: UserId; readonly changes: PersonChanges }
  | { readonly kind: 'create'; readonly person: PersonChanges & { readonly email: string } }
  | { readonly kind: 'refuse'; readonly reason: RefusedIdentity };

/**
 * Why a sign-in is refused. `unverified`: no verified address. `another_identity`: the owner of the address already has
 * another identity at the same issuer.
 */
export type RefusedIdentity = 'unverified' | 'another_identity';

/** The owner of the verified address. */
export interface Holder {
  readonly person: Person;
  /** Whether the owner already has an identity at the issuer. */
  readonly isKnownToIssuer: boolean;
}

/** The verified address; null when there is none that can be stored. */
export function vouchedEmail({ email, emailVerified }: IdentityClaims): string | null {
  const address = normalEmail(email ?? '');
  return emailVerified && isEmail(address) && !/[\p{Cc}\p{Cs}]/u.test(address) ? address : null;
}

/**
 * Decides which person signs in. A known identity takes precedence, because it stays when an address changes hands. An
 * address counts only if the provider verified it; otherwise anybody could take over an account by claiming its
 * address. It leads to a person once per issuer: a second subject is a different person to whom the address was passed
 * on.
 *
 * @param known the owner of the identity
 */
export function decideIdentity(
  claims: IdentityClaims,
  { known, holder }: { readonly known: Person | null; readonly holder: Holder | null },
): IdentityDecision {
  const email = vouchedEmail(claims);
  if (known !== null) {
    // An address already owned by someone else is not moved.
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
  return Object.fromEntries(fields.map((field) => [field, nameOf(claims[field])]).filter(([, name]) => name !== ''));
}

const nameOf = (claim: string | null): string => shownNameOf(claim ?? '', clusterLimits.personNameCharacters);

function changesOf(person: Person, wanted: PersonChanges): PersonChanges {
  return Object.fromEntries(
    Object.entries(wanted).filter(([field, value]) => person[field as keyof PersonChanges] !== value),
  );
}
