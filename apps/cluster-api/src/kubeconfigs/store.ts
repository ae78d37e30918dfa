import { includeCreator } from '@corral/cluster-data';
import type { KubeconfigScope } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import type { ClusterRecord } from '../clusters/rows.js';
import { type ClusterRow, clusterOf, wholeClusters } from '../clusters/rows.js';
import type { IssueOutcome } from './issued-credentials.js';
import type { KubeconfigStore, KubeconfigTransaction, ShootAddress } from './kubeconfigs.js';

/** Finds a cluster of the team and the address of its Shoot. Each is null when it does not exist. */
export async function findOnGarden(
  tx: Transaction,
  { team }: Pick<Caller, 'team'>,
  name: string,
): Promise<{ readonly cluster: ClusterRecord | null; readonly shoot: ShootAddress | null }> {
  const [row] = await tx.$queryRaw<(ClusterRow & { readonly namespace: string | null })[]>`
    SELECT found.*, team.project_namespace AS namespace
    FROM (${wholeClusters} WHERE cluster.team_id = ${team.id}::uuid AND cluster.name = ${name}) AS found
    JOIN team ON team.id = ${team.id}::uuid`;
  if (row === undefined) return { cluster: null, shoot: null };
  const { namespace, shootName } = row;
  return { cluster: clusterOf(row), shoot: namespace === null ? null : { namespace, name: shootName } };
}

interface IssuesOf {
  readonly action: string;
  /** Of a kubeconfig. */
  readonly scope?: KubeconfigScope;
  readonly targetId: string | null;
  readonly since: Date;
  readonly limit: number;
}

/** When credentials were issued to the caller or may have been issued, newest first. */
export async function issuedSince(
  tx: Transaction,
  { team, userId, account }: Pick<Caller, 'team' | 'userId' | 'account'>,
  { action, scope, targetId, since, limit }: IssuesOf,
): Promise<Date[]> {
  const issued = await tx.$queryRaw<{ created_at: Date }[]>`
    SELECT created_at FROM audit_entry
    WHERE team_id = ${team.id}::uuid AND target_id = ${targetId}::uuid AND action = ${action}
      AND user_id IS NOT DISTINCT FROM ${userId}::uuid AND account->>'id' IS NOT DISTINCT FROM ${account?.id ?? null}
      AND created_at > ${since} AND detail->'issued' IS DISTINCT FROM 'false'::jsonb
      AND (${scope ?? null}::text IS NULL OR coalesce(detail->>'scope', 'admin') = ${scope ?? null}::text)
    ORDER BY created_at DESC LIMIT ${limit}`;
  return issued.map((entry) => entry.created_at);
}

/** Adds the outcome of an issue to its audit entry. */
export async function recordIssueOutcome(
  prisma: Prisma,
  { team }: Pick<Caller, 'team'>,
  entryId: bigint,
  outcome: IssueOutcome,
): Promise<void> {
  const more = outcome.issued ? { issued: true, expiresAt: outcome.expiresAt.toISOString() } : { issued: false };
  await prisma.$executeRaw`
    UPDATE audit_entry SET detail = detail || ${JSON.stringify(more)}::jsonb
    WHERE team_id = ${team.id}::uuid AND id = ${entryId}`;
}

const action = 'kubeconfig.issue';

/** Issued kubeconfigs. They are recorded only in the audit log. */
export const kubeconfigStore = (prisma: Prisma, change: ChangeTeam): KubeconfigStore => ({
  async listIssues({ id: teamId }, name, limit) {
    const cluster = await prisma.cluster.findUnique({ where: { teamId_name: { teamId, name } }, select: { id: true } });
    if (cluster === null) return null;
    const rows = await prisma.auditEntry.findMany({
      where: { teamId, targetId: cluster.id, action },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit,
      select: { createdAt: true, detail: true, user: includeCreator.creator },
    });
    return rows.map(({ createdAt, detail, user }) => ({
      issuedTo: user,
      createdAt,
      ...issueOf(detail as unknown as IssueDetail),
    }));
  },

  withCluster: (caller, name, work) =>
    change(caller, async (tx, now) => work(await transactionOf(tx, caller, { name, now }))),

  recordOutcome: (caller, id, outcome) => recordIssueOutcome(prisma, caller, id, outcome),
});

interface IssueDetail {
  readonly ttlSeconds: number;
  readonly issued?: boolean;
  readonly expiresAt?: string;
}

function issueOf({ ttlSeconds, issued, expiresAt }: IssueDetail) {
  const outcome = issued === undefined ? 'pending' : issued ? 'completed' : 'refused';
  return { ttlSeconds, outcome, expiresAt: expiresAt === undefined ? null : new Date(expiresAt) } as const;
}

async function transactionOf(
  tx: Transaction,
  caller: Caller,
  { name, now }: { name: string; now: Date },
): Promise<KubeconfigTransaction> {
  const { cluster, shoot } = await findOnGarden(tx, caller, name);
  return {
    cluster,
    shoot,
    issuesOf: (scope) => ({
      now,
      listIssued: (since, limit) =>
        issuedSince(tx, caller, { action, scope, targetId: cluster?.id ?? null, since, limit }),
    }),
    recordIssue({ ttlSeconds, scope }) {
      if (cluster === null) throw new Error('A kubeconfig cannot be issued for a cluster that does not exist');
      const target = { kind: 'Cluster', id: cluster.id, name: cluster.name };
      return recordAudit(tx, caller, { action, target, detail: { ttlSeconds, scope } });
    },
  };
}
