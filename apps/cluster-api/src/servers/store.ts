import {
  keepConnection,
  lockServer,
  prismaSelect,
  type ServerShownRow,
  type ServerSpecRow,
  type ServerStateRow,
  sealedTokenOf,
  serverColumns,
  serverSpecOf,
  serverStateOf,
} from '@corral/cluster-data';
import { asConnectionId, asOperationId, type ConnectionId, type OperationId } from '@corral/contracts';
import { isUniqueViolation, type Prisma } from '@corral/database';
import type { Caller } from '../changes/caller.js';
import { desiredHashOf } from '../changes/desired-hash.js';
import { findKey, registerKey } from '../changes/idempotency-keys.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { beginOperation } from '../operations/store.js';
import { notFound } from '../problem.js';
import { type AdoptedServerRecord, serverNameOf } from './body.js';
import { type AdoptedServerStore, ServerTaken, type ServerTransaction } from './transaction.js';

export const shownOfServer = {
  ...prismaSelect({ ...serverColumns.spec, ...serverColumns.state, ...serverColumns.shown }),
  connection: { select: { ref: true } },
  nodePool: { select: { name: true, cluster: { select: { name: true } } } },
} as const;

/** Adopted servers of a team. Every change is written together with its operation and audit entry. */
export const adoptedServerStore = (prisma: Prisma, changeTeam: ChangeTeam): AdoptedServerStore => ({
  async findConnection({ team }, ref) {
    const row = await prisma.connection.findUnique({ where: { teamId_ref: { teamId: team.id, ref } } });
    if (row === null) return null;
    return { id: asConnectionId(row.id), ref, phase: row.phase, sealed: sealedTokenOf(row) };
  },

  async list({ team }, ref) {
    const where = { teamId: team.id, connection: { ref } };
    const rows = await prisma.adoptedServer.findMany({ where, orderBy: { serverId: 'asc' }, select: shownOfServer });
    return rows.map(serverRecordOf);
  },

  async find({ team }, ref, serverId) {
    const where = { teamId: team.id, connection: { ref }, serverId };
    const row = await prisma.adoptedServer.findFirst({ where, select: shownOfServer });
    return row && serverRecordOf(row);
  },

  async findReplay(caller, request) {
    const firstId = await findKey(prisma, caller, request);
    if (firstId === null) return null;
    const operationId = asOperationId(firstId);
    const teamId = caller.team.id;
    const operation = await prisma.operation.findUnique({ where: { id: operationId, teamId } });
    if (operation === null) return null;
    const where = { id: operation.targetId, teamId };
    const row = await prisma.adoptedServer.findUnique({ where, select: shownOfServer });
    return row && { server: serverRecordOf(row), operationId };
  },

  async change(caller, connectionId, work) {
    try {
      return await changeTeam(caller, async (tx, now) => {
        const teamId = caller.team.id;
        const { adoptedServersMax: quota } = await tx.team.findUniqueOrThrow({ where: { id: teamId } });
        await keepConnection(tx, teamId, connectionId);
        const connection = await tx.connection.findUnique({ where: { id: connectionId, teamId } });
        if (connection === null) throw notFound();
        return work(transactionOf(tx, caller, { connectionId, now, quota }));
      });
    } catch (error) {
      // The team's changes are locked, so only another team can have taken the id.
      throw isUniqueViolation(error) ? new ServerTaken() : error;
    }
  },
});

interface Surroundings {
  readonly connectionId: ConnectionId;
  readonly now: Date;
  readonly quota: number | null;
}

function transactionOf(tx: Transaction, caller: Caller, { connectionId, now, quota }: Surroundings): ServerTransaction {
  const teamId = caller.team.id;
  const acknowledged = { acknowledgedBy: caller.userId, acknowledgedAt: now, begunAt: now, updatedAt: now, dueAt: now };
  return {
    quota,
    async find(serverId) {
      await lockServer(tx, teamId, serverId);
      const row = await tx.adoptedServer.findFirst({
        where: { teamId, connectionId, serverId },
        select: shownOfServer,
      });
      return row && serverRecordOf(row);
    },
    count: () => tx.adoptedServer.count({ where: { teamId } }),
    registerKey: (request, operationId) => registerKey(tx, caller, request, operationId),
    async insert({ serverID: serverId, ...spec }, name, operationId) {
      const data = { teamId, connectionId, serverId, ...spec, name, operationId, createdAt: now, ...acknowledged };
      const server = serverRecordOf(await tx.adoptedServer.create({ data, select: shownOfServer }));
      await begin(tx, caller, { server, operationId, kind: 'server.adopt', now });
      return server;
    },
    async restart({ id }, { serverID: _known, ...spec }, operationId) {
      const row = await tx.adoptedServer.update({
        where: { id, teamId },
        data: {
          ...spec,
          ...acknowledged,
          operationId,
          phase: 'Adopting',
          message: '',
          failures: 0,
          generation: { increment: 1 },
          image: null,
          rebuildAskedAt: null,
          rebuildActionId: null,
          // Keeps cluster and node name: the reconciler must still remove the Node.
          purpose: 'adopt',
          nodeReady: false,
          // The team permits a rebuild, whatever happened before.
          unreadHoldId: null,
        },
        select: shownOfServer,
      });
      const server = serverRecordOf(row);
      await begin(tx, caller, { server, operationId, kind: 'server.adopt', now });
      return server;
    },
    async deregister({ id }, operationId) {
      const row = await tx.adoptedServer.update({
        where: { id, teamId },
        data: {
          phase: 'Deregistering',
          message: '',
          operationId,
          failures: 0,
          deregisterRequestedAt: now,
          updatedAt: now,
          dueAt: now,
        },
        select: shownOfServer,
      });
      const server = serverRecordOf(row);
      await begin(tx, caller, { server, operationId, kind: 'server.deregister', now, supersedes: true });
      return server;
    },
  };
}

interface Begun {
  readonly server: AdoptedServerRecord;
  readonly operationId: OperationId;
  readonly kind: 'server.adopt' | 'server.deregister';
  readonly now: Date;
  readonly supersedes?: boolean;
}

async function begin(
  tx: Transaction,
  caller: Caller,
  { server, operationId, kind, now, supersedes = false }: Begun,
): Promise<void> {
  const { id: targetId, generation, spec, connectionRef } = server;
  await beginOperation(
    tx,
    caller,
    { id: operationId, kind, generation, desiredHash: desiredHashOf({ kind, spec }), isDone: false, supersedes, now },
    {
      action: kind,
      target: { kind: 'AdoptedServer', id: targetId, name: serverNameOf(spec) },
      detail: { connectionRef },
    },
  );
}

interface Row extends ServerSpecRow, ServerStateRow, ServerShownRow {
  readonly connection: { readonly ref: string };
  readonly nodePool: { readonly name: string; readonly cluster: { readonly name: string } } | null;
}

export function serverRecordOf(row: Row): AdoptedServerRecord {
  const { nodeName, ...state } = serverStateOf(row);
  const { name, operationId, adoptedAt, createdAt, updatedAt, connection, nodePool } = row;
  return {
    ...state,
    name,
    connectionRef: connection.ref,
    spec: serverSpecOf(row),
    claimedBy: nodePool && { cluster: nodePool.cluster.name, nodePool: nodePool.name },
    mayBeNode: nodeName !== null,
    operationId: operationId === null ? null : asOperationId(operationId),
    adoptedAt,
    createdAt,
    updatedAt,
  };
}
