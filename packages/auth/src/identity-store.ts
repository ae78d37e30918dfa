import { isUniqueViolation, type Prisma, type Transaction } from '@corral/database';
import { decideIdentity, type IdentityClaims, type Person, vouchedEmail } from './identity-rules.js';

const personFields = { id: true, email: true, firstName: true, lastName: true, displayName: true } as const;
/** Each lost race means that somebody else got on, so a second try is nearly always the last. */
const ATTEMPTS_MAX = 5;

/** People as identity providers know them. */
export const identityStore = (prisma: Prisma) => ({
  /**
   * Finds the person of an identity, or makes them, and takes over what the provider says of them.
   *
   * @returns null for somebody new whose e-mail address the provider does not vouch for
   */
  async signIn(claims: IdentityClaims): Promise<Person | null> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await prisma.$transaction((tx) => apply(tx, claims));
      } catch (error) {
        // The same person in another tab, or an address that was taken just now: what is so is read anew.
        if (attempt === ATTEMPTS_MAX || !isUniqueViolation(error)) throw error;
      }
    }
  },
});
export type IdentityStore = ReturnType<typeof identityStore>;

async function apply(tx: Transaction, claims: IdentityClaims): Promise<Person | null> {
  const { issuer, subject } = claims;
  const decision = decideIdentity(claims, await readPersons(tx, claims));
  switch (decision.kind) {
    case 'refuse':
      return null;
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
  const identity = await tx.userIdentity.findUnique({ where: key, select: { user: { select: personFields } } });
  const email = vouchedEmail(claims);
  const holder = email === null ? null : await tx.user.findUnique({ where: { email }, select: personFields });
  return { known: identity?.user ?? null, holder };
}
