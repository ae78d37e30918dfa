import {
  asClusterId,
  asNodePoolId,
  asServerId,
  type ServerArchitecture,
  type ServerKind,
  type ServerPhase,
} from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { findOnGarden, issuedSince, recordIssueOutcome } from '../kubeconfigs/store.js';
import type { JoinCommandStore, JoinCommandTransaction } from './join-commands.js';
import type { JoiningServer } from './joining-machine.js';

const action = 'server.join_command';

/** Issued join commands. They are recorded only in the audit log. */
export const joinCommandStore = (prisma: Prisma, change: ChangeTeam): JoinCommandStore => ({
  withServer: (caller, of, work) =>
    change(caller, async (tx, now) => work(transactionOf(tx, caller, now, await findServer(tx, caller, of)))),

  async expect({ team }, { id, nodePoolId, clusterId, nodeName }) {
    // The new generation invalidates a pass that has just deleted the tokens. It reads again and finds the new one.
    const where = { teamId: team.id, id, phase: 'Joining', nodePoolId, memberOfId: clusterId, nodeName };
    const now = await readClock(prisma);
    const { count } = await prisma.adoptedServer.updateMany({
      where: { ...where, deregisterRequestedAt: null },
      data: { generation: { increment: 1 }, begunAt: now, updatedAt: now, dueAt: now },
    });
    return count === 1;
  },

  recordOutcome: (caller, id, outcome) => recordIssueOutcome(prisma, caller, id, outcome),
});

async function findServer(
  tx: Transaction,
  caller: Caller,
  { ref, serverId }: { readonly ref: string; readonly serverId: number },
): Promise<JoiningServer | null> {
  const where = { teamId: caller.team.id, connection: { ref }, serverId };
  const row = await tx.adoptedServer.findFirst({
    where,
    include: { nodePool: { select: { id: true, cluster: { select: { name: true } } } } },
  });
  if (row === null) return null;
  const { message, memberOfId, nodeName, nodePool } = row;
  const claimOf = async (pool: NonNullable<typeof nodePool>): Promise<JoiningServer['claim']> => {
    const { cluster, shoot } = await findOnGarden(tx, caller, pool.cluster.name);
    return cluster && { nodePoolId: asNodePoolId(pool.id), cluster, shoot };
  };
  return {
    id: asServerId(row.id),
    serverId,
    message,
    nodeOfClusterId: memberOfId === null ? null : asClusterId(memberOfId),
    nodeName,
    kind: row.serverKind as ServerKind,
    architecture: row.architecture as ServerArchitecture,
    phase: row.phase as ServerPhase,
    claim: nodePool && (await claimOf(nodePool)),
  };
}

function transactionOf(
  tx: Transaction,
  caller: Caller,
  now: Date,
  server: JoiningServer | null,
): JoinCommandTransaction {
  return {
    server,
    now,
    listIssued: (since, limit) => issuedSince(tx, caller, { action, targetId: server?.id ?? null, since, limit }),
    recordIssue({ id, nodeName, cluster }) {
      const target = { kind: 'AdoptedServer', id, name: String(server?.serverId) };
      return recordAudit(tx, caller, { action, target, detail: { cluster, nodeName } });
    },
  };
}
