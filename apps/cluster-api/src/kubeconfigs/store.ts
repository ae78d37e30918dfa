import { type CreatorRow, includeCreator } from '@corral/cluster-data';
import type { KubeconfigScope } from '@corral/contracts';
import type { Prisma, Transaction } from '@corral/database';
import type { Caller } from '../changes/caller.js';
import { type ClusterRecord, findCluster } from '../clusters/store.js';

/** Identifies a Shoot on the garden. */
export interface ShootAddress {
  readonly namespace: string;
  readonly name: string;
}

/** Finds a cluster of the team and the address of its Shoot. Each is null when it does not exist. */
export async function findOnGarden(
  tx: Transaction,
  { team }: Caller,
  name: string,
): Promise<{ readonly cluster: ClusterRecord | null; readonly shoot: ShootAddress | null }> {
  const cluster = await findCluster(tx, team.id, name);
  const select = { projectNamespace: true };
  const { projectNamespace: namespace } = await tx.team.findUniqueOrThrow({ where: { id: team.id }, select });
  const isThere = cluster !== null && namespace !== null;
  return { cluster, shoot: isThere ? { namespace, name: cluster.shootName } : null };
}

/** Issued credentials are recorded only in the audit log. */
export interface IssuesOf {
  readonly action: 'kubeconfig.issue' | 'server.join_command';
  readonly scope?: KubeconfigScope;
  readonly targetId: string;
  readonly since: Date;
  readonly limit: number;
}

export type IssueOutcome = { readonly issued: true; readonly expiresAt: Date } | { readonly issued: false };

/**
 * Finds when credentials were issued to the caller or may have been, newest first. SQL filters, because refused requests do
 * not count, and there can be any number of them.
 */
export async function issuedSince(
  tx: Transaction,
  { team, userId, account }: Caller,
  { action, scope, targetId, since, limit }: IssuesOf,
): Promise<Date[]> {
  const issued = await tx.$queryRaw<{ createdAt: Date }[]>`
    SELECT created_at AS "createdAt" FROM audit_entry
    WHERE team_id = ${team.id}::uuid AND target_id = ${targetId}::uuid AND action = ${action}
      AND user_id IS NOT DISTINCT FROM ${userId}::uuid AND account->>'id' IS NOT DISTINCT FROM ${account?.id ?? null}
      AND created_at > ${since} AND detail->'issued' IS DISTINCT FROM 'false'::jsonb
      AND (${scope ?? null}::text IS NULL OR coalesce(detail->>'scope', 'admin') = ${scope ?? null}::text)
    ORDER BY created_at DESC LIMIT ${limit}`;
  return issued.map(({ createdAt }) => createdAt);
}

/** Adds the outcome of an issue to its audit entry. */
export async function recordIssueOutcome(
  prisma: Prisma,
  { team }: Caller,
  entryId: bigint,
  outcome: IssueOutcome,
): Promise<void> {
  const more = outcome.issued ? { issued: true, expiresAt: outcome.expiresAt.toISOString() } : { issued: false };
  const where = { teamId: team.id, id: entryId };
  const { detail } = await prisma.auditEntry.findUniqueOrThrow({ where, select: { detail: true } });
  await prisma.auditEntry.updateMany({ where, data: { detail: { ...(detail as object), ...more } } });
}

/** A credential that was requested, and to whom it was issued. */
export interface KubeconfigIssue {
  /** Null for a service account, and for a person whose account is deleted. */
  readonly issuedTo: CreatorRow | null;
  /** The name of the service account. */
  readonly serviceAccount: string | null;
  readonly scope: `cluster-${KubeconfigScope}`;
  readonly createdAt: Date;
  readonly ttlSeconds: number;
  /** Null unless the outcome is `completed`. */
  readonly expiresAt: Date | null;
  readonly outcome: 'completed' | 'refused' | 'pending';
}

/** The newest issues of kubeconfigs of the cluster, newest first; null without such a cluster. */
export async function listKubeconfigIssues(
  prisma: Prisma,
  { team: { id: teamId } }: Caller,
  name: string,
  limit: number,
): Promise<KubeconfigIssue[] | null> {
  const cluster = await prisma.cluster.findUnique({ where: { teamId_name: { teamId, name } }, select: { id: true } });
  if (cluster === null) return null;
  const rows = await prisma.auditEntry.findMany({
    where: { teamId, targetId: cluster.id, action: 'kubeconfig.issue' },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
    select: { createdAt: true, detail: true, account: true, user: includeCreator.creator },
  });
  return rows.map(({ createdAt, detail, account, user }) => ({
    issuedTo: user,
    serviceAccount: (account as { readonly name: string } | null)?.name ?? null,
    createdAt,
    ...issueOf(detail as unknown as IssueDetail),
  }));
}

interface IssueDetail {
  readonly scope?: KubeconfigScope;
  readonly ttlSeconds: number;
  readonly issued?: boolean;
  readonly expiresAt?: string;
}

function issueOf({ scope = 'admin', ttlSeconds, issued, expiresAt }: IssueDetail) {
  const outcome = issued === undefined ? 'pending' : issued ? 'completed' : 'refused';
  return {
    scope: `cluster-${scope}`,
    ttlSeconds,
    outcome,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
  } as const;
}
