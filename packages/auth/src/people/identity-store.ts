import { asUserId, type UserId } from '@corral/contracts';
import { isUniqueViolation, lockRows, type Prisma, type Transaction } from '@corral/database';
import { endSessions } from '../sessions/store.js';
import {
  decideIdentity,
  type Holder,
  type IdentityClaims,
  type Person,
  type RefusedIdentity,
  vouchedEmail,
} from './identity-rules.js';

const personFields = { id: true, email: true, firstName: true, lastName: true, displayName: true } as const;
/** Every lost race means another sign-in succeeded, so a second attempt nearly always does. */
const ATTEMPTS_MAX = 5;

/** The sign-in was refused. */
export class IdentityRefused extends Error {
  override readonly name = 'IdentityRefused';
  constructor(readonly reason: RefusedIdentity) {
    super(`The identity is refused: ${reason}.`);
  }
}

/** A link between a person and an identity provider. */
export interface IdentityRecord {
  readonly issuer: string;
  readonly subject: string;
  readonly createdAt: Date;
}

/** People and their identities at identity providers. */
export const identityStore = (prisma: Prisma) => ({
  /**
   * Finds or creates the person of an identity and updates them from the claims.
   *
   * @throws IdentityRefused
   */
  async signIn(claims: IdentityClaims): Promise<Person> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await prisma.$transaction((tx) => apply(tx, claims));
      } catch (error) {
        // A concurrent sign-in of the same person or a conflicting address: read again and retry.
        if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
      }
    }
  },

  /** The person's identities, oldest first. */
  listIdentities(userId: UserId): Promise<IdentityRecord[]> {
    const select = { issuer: true, subject: true, createdAt: true };
    return prisma.userIdentity.findMany({ where: { userId }, orderBy: { createdAt: 'asc' }, select });
  },
});

/**
 * Removes an identity from a person and ends the person's sessions. The next identity with the verified address is
 * linked instead.
 *
 * @returns false when the person does not have this identity
 */
export async function unlinkIdentity(
  tx: Transaction,
  userId: UserId,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): Promise<boolean> {
  const { count } = await tx.userIdentity.deleteMany({ where: { userId, issuer, subject } });
  if (count === 0) return false;
  await endSessions(tx, { userId });
  return true;
}

async function apply(tx: Transaction, claims: IdentityClaims): Promise<Person> {
  const { issuer, subject } = claims;
  const decision = decideIdentity(claims, await readPersons(tx, claims));
  switch (decision.kind) {
    case 'refuse':
      throw new IdentityRefused(decision.reason);
    case 'create':
      return asPerson(
        await tx.user.create({
          data: { ...decision.person, identities: { create: { issuer, subject } } },
          select: personFields,
        }),
      );
    case 'link':
      await tx.userIdentity.create({ data: { issuer, subject, userId: decision.id } });
      return asPerson(
        await tx.user.update({ where: { id: decision.id }, data: decision.changes, select: personFields }),
      );
    case 'update':
      return asPerson(
        await tx.user.update({ where: { id: decision.id }, data: decision.changes, select: personFields }),
      );
  }
}

async function readPersons(tx: Transaction, claims: IdentityClaims) {
  const { issuer, subject } = claims;
  const key = { issuer_subject: { issuer, subject } };
  // Read before the identity. If a concurrent copy of this sign-in creates both in between, it is then found by its
  // identity instead of counting as another one.
  const holder = await readHolder(tx, claims);
  const identity = await tx.userIdentity.findUnique({ where: key, select: { user: { select: personFields } } });
  return { known: identity && asPerson(identity.user), holder };
}

async function readHolder(tx: Transaction, claims: IdentityClaims): Promise<Holder | null> {
  const email = vouchedEmail(claims);
  if (email === null) return null;
  // Locked until the end, so that of two concurrent subjects the second sees the first.
  await lockRows(tx, 'app_user', { email });
  const ofIssuer = { where: { issuer: claims.issuer }, select: { subject: true } };
  const row = await tx.user.findUnique({ where: { email }, select: { ...personFields, identities: ofIssuer } });
  if (row === null) return null;
  const { identities, ...person } = row;
  return { person: asPerson(person), isKnownToIssuer: identities.length > 0 };
}

const asPerson = (row: Omit<Person, 'id'> & { readonly id: string }): Person => ({ ...row, id: asUserId(row.id) });
