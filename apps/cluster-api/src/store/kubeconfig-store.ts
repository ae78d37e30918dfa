import type { Prisma } from '@corral/database';
import type { Caller } from '../domain/caller.js';
import type { KubeconfigStore, KubeconfigTransaction } from '../domain/kubeconfigs.js';
import { recordAudit } from './audit.js';
import { findOnGarden, issuedSince, recordIssueOutcome } from './issued-credentials.js';
import type { ChangeTeam, Transaction } from './team-changes.js';

const action = 'kubeconfig.issue';

/** Who was given which credential, in the audit log: the only trace that an issue leaves. */
export const kubeconfigStore = (prisma: Prisma, change: ChangeTeam): KubeconfigStore => ({
  withCluster: (caller, name, work) =>
    change(caller, async (tx, now) => work(await transactionOf(tx, caller, { name, now }))),

  recordOutcome: (caller, id, outcome) => recordIssueOutcome(prisma, caller, id, outcome),
});

async function transactionOf(
  tx: Transaction,
  caller: Caller,
  { name, now }: { name: string; now: Date },
): Promise<KubeconfigTransaction> {
  const { cluster, shoot } = await findOnGarden(tx, caller, name);
  return {
    ...{ cluster, shoot, now },
    listIssued: (since, limit) => issuedSince(tx, caller, { action, targetId: cluster?.id ?? null, since, limit }),
    recordIssue({ ttlSeconds }) {
      if (cluster === null) throw new Error('A kubeconfig was to be issued for a cluster that is not there');
      const target = { kind: 'Cluster', id: cluster.id, name: cluster.name };
      return recordAudit(tx, caller, { action, target, detail: { ttlSeconds } });
    },
  };
}
