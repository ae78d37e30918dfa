import { hashDnsToken, isWellFormedDnsToken, replaceTokenOfName } from '@corral/auth';
import { clusterColumns, prismaSelect, seenOf } from '@corral/cluster-data';
import { asTeamId, type HostedNameState } from '@corral/contracts';
import { lockRows, type Prisma, readClock } from '@corral/database';
import type { NameStanding, NameToken } from '@corral/domain';
import { claimRows, timeIn } from '../../loop/claim.js';
import { hasApiServer } from '../../upkeep/usage.js';

/** A name that is due, and its cluster. */
export interface DueName {
  readonly id: string;
  readonly team: { readonly id: ReturnType<typeof asTeamId>; readonly slug: string; readonly isSuspended: boolean };
  readonly name: string;
  readonly state: HostedNameState;
  readonly dnsTokenId: string | null;
  readonly isRemoving: boolean;
  readonly failures: number;
  readonly cluster: {
    readonly name: string;
    readonly isDeleting: boolean;
    readonly isHibernated: boolean;
    /** Null while its API server is not up. */
    readonly shoot: { readonly namespace: string; readonly name: string } | null;
  };
  /** The names that stay on the cluster. */
  readonly others: readonly string[];
  /** End of the claim. */
  readonly claimedUntil: Date;
}

const select = {
  id: true,
  name: true,
  state: true,
  dnsTokenId: true,
  removalRequestedAt: true,
  failures: true,
  team: { select: { id: true, slug: true, suspendedAt: true, projectNamespace: true } },
  cluster: {
    select: {
      ...prismaSelect({ ...clusterColumns.declared, ...clusterColumns.observed }),
      hostedNames: { where: { removalRequestedAt: null }, select: { name: true } },
    },
  },
} as const;

interface NextPass {
  /** Consecutive passes without an answer. */
  readonly failures: number;
  readonly againMs: number;
  /** Whether the cluster was asked. */
  readonly wasAsked: boolean;
}

export const nameStore = (prisma: Prisma) => ({
  /** Claims due names. They are due again after `retryMs` unless an outcome is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueName[]> {
    const claimed = await claimRows(prisma, { table: 'hosted_name', due: 'due_at' }, { limit, retryMs });
    if (claimed.size === 0) return [];
    const rows = await prisma.hostedName.findMany({ where: { id: { in: [...claimed.keys()] } }, select });
    return rows.map(({ team, cluster, removalRequestedAt, ...row }) => {
      const { hostedNames, ...declared } = cluster;
      const [seen, namespace] = [seenOf(declared), team.projectNamespace];
      return {
        ...row,
        state: row.state as HostedNameState,
        team: { id: asTeamId(team.id), slug: team.slug, isSuspended: team.suspendedAt !== null },
        isRemoving: removalRequestedAt !== null,
        cluster: {
          name: declared.name,
          isDeleting: declared.deletionRequestedAt !== null,
          isHibernated: seen.phase === 'Hibernated',
          shoot: hasApiServer(seen) && namespace !== null ? { namespace, name: declared.shootName } : null,
        },
        others: hostedNames.map(({ name }) => name).filter((name) => name !== row.name),
        claimedUntil: claimed.get(row.id) as Date,
      };
    });
  },

  /** The token of the name with that text; null when it is another one, or is revoked. */
  async tokenWith({ dnsTokenId }: DueName, text: string | null): Promise<NameToken | null> {
    if (dnsTokenId === null || text === null || !isWellFormedDnsToken(text)) return null;
    const where = { id: dnsTokenId, hash: new Uint8Array(hashDnsToken(text)), revokedAt: null };
    return (await prisma.dnsToken.count({ where })) === 1 ? { id: dnsTokenId, text } : null;
  },

  /** Gives the name another token. @returns null when the name was claimed by others or changed since */
  replaceToken: ({ id, team, name, cluster, claimedUntil }: DueName): Promise<NameToken | null> =>
    prisma.$transaction(async (tx) => {
      await lockRows(tx, 'hosted_name', { id });
      const row = await tx.hostedName.findFirst({
        where: { id, dueAt: claimedUntil, removalRequestedAt: null },
        select: { dnsTokenId: true },
      });
      return row && replaceTokenOfName(tx, { id, team, name, cluster: cluster.name, dnsTokenId: row.dnsTokenId });
    }),

  /** Records what was found, unless the name was claimed by others since. One that is to be removed since is due instead. */
  async record(
    due: DueName,
    { state, message }: NameStanding,
    { failures, againMs, wasAsked }: NextPass,
  ): Promise<void> {
    const [dueAt, now] = [await timeIn(prisma, againMs), await readClock(prisma)];
    const data = { state, message, failures, dueAt, ...(wasAsked ? { checkedAt: now } : {}) };
    const { id, claimedUntil, isRemoving } = due;
    const removalRequestedAt = isRemoving ? { not: null } : null;
    const where = { id, dueAt: claimedUntil, removalRequestedAt };
    const { count } = await prisma.hostedName.updateMany({ where, data });
    if (count === 0) await releaseName(prisma, due);
  },

  release: (due: DueName): Promise<void> => releaseName(prisma, due),

  /** Deletes the row of a name whose objects are gone. */
  async recordRemoved({ id }: DueName): Promise<void> {
    await prisma.hostedName.deleteMany({ where: { id, removalRequestedAt: { not: null } } });
  },
});
export type NameStore = ReturnType<typeof nameStore>;

/** Makes the name due again, unless it was claimed by others since. */
async function releaseName(prisma: Prisma, { id, claimedUntil }: DueName): Promise<void> {
  const dueAt = await readClock(prisma);
  await prisma.hostedName.updateMany({ where: { id, dueAt: claimedUntil }, data: { dueAt } });
}
