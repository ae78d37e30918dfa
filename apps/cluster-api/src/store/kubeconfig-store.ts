import type { Prisma } from '@corral/database';
import type { Caller } from '../domain/caller.js';
import type { KubeconfigStore, KubeconfigTransaction } from '../domain/kubeconfigs.js';
import { recordAudit } from './audit.js';
import { type ClusterRow, clusterOf, wholeClusters } from './cluster-rows.js';
import type { ChangeTeam, Transaction } from './team-changes.js';

const action = 'kubeconfig.issue';

/** Who was given which credential, in the audit log: the only trace that an issue leaves. */
export const kubeconfigStore = (prisma: Prisma, change: ChangeTeam): KubeconfigStore => ({
  withCluster: (caller, name, work) =>
    change(caller, async (tx, now) => work(await transactionOf(tx, caller, { name, now }))),

  async recordOutcome(caller, id, outcome) {
    const more = outcome.issued ? { issued: true, expiresAt: outcome.expiresAt.toISOString() } : { issued: false };
    await prisma.$executeRaw`
      UPDATE audit_entry SET detail = detail || ${JSON.stringify(more)}::jsonb
      WHERE team_id = ${caller.team.id}::uuid AND id = ${id}`;
  },
});

async function transactionOf(
  tx: Transaction,
  caller: Caller,
  { name, now }: { name: string; now: Date },
): Promise<KubeconfigTransaction> {
  const teamId = caller.team.id;
  const [row] = await tx.$queryRaw<(ClusterRow & { readonly namespace: string | null })[]>`
    SELECT found.*, team.project_namespace AS namespace
    FROM (${wholeClusters} WHERE cluster.team_id = ${teamId}::uuid AND cluster.name = ${name}) AS found
    JOIN team ON team.id = ${teamId}::uuid`;
  const namespace = row?.namespace ?? null;
  return {
    cluster: row === undefined ? null : clusterOf(row),
    shoot: row === undefined || namespace === null ? null : { namespace, name: row.shootName },
    now,

    async listIssued(since, limit) {
      const issued = await tx.$queryRaw<{ created_at: Date }[]>`
        SELECT created_at FROM audit_entry
        WHERE team_id = ${teamId}::uuid AND target_id = ${row?.id}::uuid AND action = ${action}
          AND created_at > ${since} AND detail->'issued' IS DISTINCT FROM 'false'::jsonb
        ORDER BY created_at DESC LIMIT ${limit}`;
      return issued.map((entry) => entry.created_at);
    },

    recordIssue({ ttlSeconds }) {
      if (row === undefined) throw new Error('A kubeconfig was to be issued for a cluster that is not there');
      const target = { kind: 'Cluster', id: row.id, name: row.name };
      return recordAudit(tx, caller, { action, target, detail: { ttlSeconds } });
    },
  };
}
