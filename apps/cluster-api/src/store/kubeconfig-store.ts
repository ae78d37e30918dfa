import type { Prisma } from '@corral/database';
import type { Caller } from '../domain/caller.js';
import type { KubeconfigStore, KubeconfigTransaction } from '../domain/kubeconfigs.js';
import { recordAudit } from './audit.js';
import { clusterOf, withPools } from './cluster-rows.js';
import type { Transaction } from './transaction.js';

const action = 'kubeconfig.issue';

/** Who was given which credential, in the audit log: the only trace that an issue leaves. */
export const kubeconfigStore = (prisma: Prisma): KubeconfigStore => ({
  withCluster: (caller, name, work) => prisma.$transaction(async (tx) => work(await lock(tx, caller, name))),

  async recordOutcome(caller, id, outcome) {
    const more = outcome.issued ? { issued: true, expiresAt: outcome.expiresAt.toISOString() } : { issued: false };
    await prisma.$executeRaw`
      UPDATE audit_entry SET detail = detail || ${JSON.stringify(more)}::jsonb
      WHERE team_id = ${caller.team.id}::uuid AND id = ${id}`;
  },
});

/** The lock lets one issue count at a time. A pass holds it for moments only, however long an update takes. */
async function lock(tx: Transaction, caller: Caller, name: string): Promise<KubeconfigTransaction> {
  const teamId = caller.team.id;
  await tx.$queryRaw`SELECT id FROM cluster WHERE team_id = ${teamId}::uuid AND name = ${name} FOR NO KEY UPDATE`;
  const row = await tx.cluster.findUnique({
    where: { teamId_name: { teamId, name } },
    include: { ...withPools, team: { select: { projectNamespace: true } } },
  });
  const [clock] = await tx.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  const namespace = row?.team.projectNamespace ?? null;
  return {
    cluster: row === null ? null : clusterOf(row),
    shoot: row === null || namespace === null ? null : { namespace, name: row.shootName },
    now: (clock as { now: Date }).now,

    async listIssued(since, limit) {
      const issued = await tx.$queryRaw<{ created_at: Date }[]>`
        SELECT created_at FROM audit_entry
        WHERE team_id = ${teamId}::uuid AND target_id = ${row?.id}::uuid AND action = ${action}
          AND created_at > ${since} AND detail->'issued' IS DISTINCT FROM 'false'::jsonb
        ORDER BY created_at DESC LIMIT ${limit}`;
      return issued.map((entry) => entry.created_at);
    },

    recordIssue({ ttlSeconds }) {
      if (row === null) throw new Error('A kubeconfig was to be issued for a cluster that is not there');
      const target = { kind: 'Cluster', id: row.id, name: row.name };
      return recordAudit(tx, caller, { action, target, detail: { ttlSeconds } });
    },
  };
}
