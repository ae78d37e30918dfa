import type { Prisma } from '@corral/database';
import type { Caller } from '../domain/caller.js';
import type { ClusterRecord } from '../domain/cluster-record.js';
import type { IssueOutcome, ShootAddress } from '../domain/kubeconfigs.js';
import { type ClusterRow, clusterOf, wholeClusters } from './cluster-rows.js';
import type { Transaction } from './team-changes.js';

/** A cluster of the team, and where it is on the garden; nulls for what is not there. */
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
  readonly targetId: string | null;
  readonly since: Date;
  readonly limit: number;
}

/** When credentials were issued, or may have been, newest first. */
export async function issuedSince(
  tx: Transaction,
  { team }: Pick<Caller, 'team'>,
  { action, targetId, since, limit }: IssuesOf,
): Promise<Date[]> {
  const issued = await tx.$queryRaw<{ created_at: Date }[]>`
    SELECT created_at FROM audit_entry
    WHERE team_id = ${team.id}::uuid AND target_id = ${targetId}::uuid AND action = ${action}
      AND created_at > ${since} AND detail->'issued' IS DISTINCT FROM 'false'::jsonb
    ORDER BY created_at DESC LIMIT ${limit}`;
  return issued.map((entry) => entry.created_at);
}

/** Completes the audit entry of an issue with what became of it. */
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
