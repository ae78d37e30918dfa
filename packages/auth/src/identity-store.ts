import { isUniqueViolation, type Prisma, type Transaction } from '@corral/database';
import {
  decideIdentity,
  type Holder,
  type IdentityClaims,
  type Person,
  type RefusedIdentity,
  vouchedEmail,
} from './identity-rules.js';
import { endSessions } from './session-store.js';
import type { UserRecord } from './user-store.js';

const personFields = { id: true, email: true, firstName: true, lastName: true, displayName: true } as const;
/** Each lost race means that somebody else got on, so a second try is nearly always the last. */
const ATTEMPTS_MAX = 5;

/** A sign-in that leads to nobody here. */
export class IdentityRefused extends Error {
  override readonly name = 'IdentityRefused';
  constructor(readonly reason: RefusedIdentity) {
    super(`The identity is refused: ${reason}.`);
  }
}

/** How an identity provider knows a person. */
export interface IdentityRecord {
  readonly issuer: string;
  readonly subject: string;
  readonly createdAt: Date;
}

/** People as identity providers know them. */
export const identityStore = (prisma: Prisma) => ({
  /**
   * Finds the person of an identity, or makes them, and takes over what the provider says of them.
   *
   * @throws IdentityRefused
   */
  async signIn(claims: IdentityClaims): Promise<Person> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await prisma.$transaction((tx) => apply(tx, claims));
      } catch (error) {
        // The same person in another tab, or an address that was taken just now: what is so is read anew.
        if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
      }
    }
  },

  /** Those that a person was known by first, first. */
  listIdentities({ id: userId }: Pick<UserRecord, 'id'>): Promise<IdentityRecord[]> {
    const select = { issuer: true, subject: true, createdAt: true };
    return prisma.userIdentity.findMany({ where: { userId }, orderBy: { createdAt: 'asc' }, select });
  },

  /**
   * Parts a person from an identity, and ends the sessions that may have come of it. The next one with the vouched address
   * takes its place.
   *
   * @returns false when the person is not known by it
   */
  unlink(
    { id: userId }: Pick<UserRecord, 'id'>,
    { issuer, subject }: Pick<IdentityRecord, 'issuer' | 'subject'>,
  ): Promise<boolean> {
    return prisma.$transaction(async (tx) => {
      const { count } = await tx.userIdentity.deleteMany({ where: { userId, issuer, subject } });
      if (count === 0) return false;
      await endSessions(tx, userId);
      return true;
    });
  },
});
export type IdentityStore = ReturnType<typeof identityStore>;

async function apply(tx: Transaction, claims: IdentityClaims): Promise<Person> {
  const { issuer, subject } = claims;
  const decision = decideIdentity(claims, await readPersons(tx, claims));
  switch (decision.kind) {
    case 'refuse':
      throw new IdentityRefused(decision.reason);
    case 'create':
      return tx.user.create({
        data: { ...decision.person, identities: { create: { issuer, subject } } },
        select: personFields,
      });
    case 'link':
      await tx.userIdentity.create({ data: { issuer, subject, userId: decision.id } });
      return tx.user.update({ where: { id: decision.id }, data: decision.changes, select: personFields });
    case 'update':
      return tx.user.update({ where: { id: decision.id }, data: decision.changes, select: personFields });
  }
}

async function readPersons(tx: Transaction, claims: IdentityClaims) {
  const { issuer, subject } = claims;
  const key = { issuer_subject: { issuer, subject } };
  // Before the identity: a copy of this sign-in that made both in between is then found by it, and not taken for another.
  const holder = await readHolder(tx, claims);
  const identity = await tx.userIdentity.findUnique({ where: key, select: { user: { select: personFields } } });
  return { known: identity?.user ?? null, holder };
}

async function readHolder(tx: Transaction, claims: IdentityClaims): Promise<Holder | null> {
  const email = vouchedEmail(claims);
  if (email === null) return null;
  // Held until the end: of two subjects that come at once, the second one meets the first.
  await tx.$queryRaw`SELECT id FROM app_user WHERE email = ${email} FOR NO KEY UPDATE`;
  const ofIssuer = { where: { issuer: claims.issuer }, select: { subject: true } };
  const row = await tx.user.findUnique({ where: { email }, select: { ...personFields, identities: ofIssuer } });
  if (row === null) return null;
  const { identities, ...person } = row;
  return { person, isKnownToIssuer: identities.length > 0 };
}
