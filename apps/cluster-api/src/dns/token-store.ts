import { dnsTokenRecordOf, inForce, isKept, issueDnsToken, revokeDnsToken, shownOfDnsToken } from '@corral/auth';
import { type DnsTokenState, roleCovers } from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import type { PersonCaller } from '../changes/caller.js';
import { registerKey } from '../changes/idempotency-keys.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { isBehind, newestFirst } from '../paging.js';
import type { DnsTokenStore, DnsTokenTransaction } from './tokens.js';

/** The DNS tokens of a team that the caller may see. */
export const dnsTokenStore = (prisma: Prisma, changeTeam: ChangeTeam): DnsTokenStore => ({
  async list(caller, { limit, after, state }) {
    const rows = await prisma.dnsToken.findMany({
      where: {
        ...visibleTo(caller),
        AND: [state === null ? {} : isIn(state, await readClock(prisma)), after === null ? {} : isBehind(after)],
      },
      orderBy: newestFirst,
      take: limit,
      select: shownOfDnsToken,
    });
    return rows.map(dnsTokenRecordOf);
  },

  find: (caller, id) => find(prisma, caller, id),

  clock: () => readClock(prisma),

  change: (caller, work) =>
    changeTeam(caller, async (tx) => {
      // A member who was removed since the request was authorized must not leave a new token behind.
      const key = { teamId: caller.team.id, userId: caller.userId };
      const membership = await tx.membership.findUnique({ where: { teamId_userId: key }, select: { role: true } });
      if (membership === null || !roleCovers(membership.role, 'member')) return null;
      return work(transactionOf(tx, { ...caller, ...membership }));
    }),
});

function transactionOf(tx: Transaction, caller: PersonCaller): DnsTokenTransaction {
  return {
    find: (id) => find(tx, caller, id),
    issue: (id, wanted) => issueDnsToken(tx, caller.team, { ...wanted, id }, caller),
    async revoke(id) {
      await revokeDnsToken(tx, caller.team, id, caller);
    },
    registerKey: (request, tokenId) => registerKey(tx, caller, request, tokenId),
  };
}

async function find(db: Pick<Transaction, 'dnsToken'>, caller: PersonCaller, id: string) {
  const row = await db.dnsToken.findFirst({ where: { ...visibleTo(caller), id }, select: shownOfDnsToken });
  return row && dnsTokenRecordOf(row);
}

const visibleTo = ({ team, role, userId }: PersonCaller) => ({
  teamId: team.id,
  ...isKept,
  ...(role === 'admin' ? {} : { createdById: userId }),
});

function isIn(state: DnsTokenState, now: Date) {
  switch (state) {
    case 'active':
      return inForce(now);
    case 'expired':
      return { revokedAt: null, expiresAt: { lte: now } };
    case 'revoked':
      return { revokedAt: { not: null } };
  }
}
