import type { AdoptedServerSpec, ServerPhase } from '@corral/contracts';
import { isUniqueViolation, type Prisma } from '@corral/database';
import { type AdoptedServerRecord, serverNameOf } from '../domain/adopted-server-record.js';
import { type AdoptedServerStore, type ServerChanges, ServerTaken } from '../domain/adopted-servers.js';
import type { Caller } from '../domain/caller.js';
import { desiredHashOf } from '../domain/desired-hash.js';
import { notFound } from '../problem.js';
import { beginOperation } from './begin-operation.js';
import { claimKey, findKey } from './idempotency-keys.js';
import type { ChangeTeam, Transaction } from './team-changes.js';

export const withServerNames = {
  connection: { select: { ref: true } },
  nodePool: { select: { name: true, cluster: { select: { name: true } } } },
} as const;

/** Adopted servers of a team. Whatever is written is written with its operation and its audit entry. */
export const adoptedServerStore = (prisma: Prisma, changeTeam: ChangeTeam): AdoptedServerStore => ({
  async findConnection({ team }, ref) {
    const row = await prisma.connection.findUnique({ where: { teamId_ref: { teamId: team.id, ref } } });
    if (row === null) return null;
    const { id, phase, tokenKeyId: keyId, sealedToken: bytes } = row;
    return { id, ref, phase, sealed: { keyId, bytes } };
  },

  async list({ team }, ref) {
    const where = { teamId: team.id, connection: { ref } };
    const rows = await prisma.adoptedServer.findMany({ where, orderBy: { serverId: 'asc' }, include: withServerNames });
    return rows.map(serverRecordOf);
  },

  async find({ team }, ref, serverId) {
    const where = { teamId: team.id, connection: { ref }, serverId };
    const row = await prisma.adoptedServer.findFirst({ where, include: withServerNames });
    return row && serverRecordOf(row);
  },

  async findReplay(caller, request) {
    const operationId = await findKey(prisma, caller, request);
    if (operationId === null) return null;
    const teamId = caller.team.id;
    const operation = await prisma.operation.findUnique({ where: { id: operationId, teamId } });
    if (operation === null) return null;
    const where = { id: operation.targetId, teamId };
    const row = await prisma.adoptedServer.findUnique({ where, include: withServerNames });
    return row && { server: serverRecordOf(row), operationId };
  },

  async change(caller, connectionId, work) {
    try {
      return await changeTeam(caller, async (tx, now) => {
        const teamId = caller.team.id;
        const { adoptedServersMax: quota } = await tx.team.findUniqueOrThrow({ where: { id: teamId } });
        await tx.$queryRaw`SELECT FROM connection WHERE team_id = ${teamId}::uuid AND id = ${connectionId}::uuid FOR KEY SHARE`;
        const connection = await tx.connection.findUnique({ where: { id: connectionId, teamId } });
        if (connection === null) throw notFound();
        return work(changesOf(tx, caller, { connectionId, now, quota }));
      });
    } catch (error) {
      // While the team's changes are held only another team can have taken the number.
      throw isUniqueViolation(error) ? new ServerTaken() : error;
    }
  },
});

interface Surroundings {
  readonly connectionId: string;
  readonly now: Date;
  readonly quota: number | null;
}

function changesOf(tx: Transaction, caller: Caller, { connectionId, now, quota }: Surroundings): ServerChanges {
  const teamId = caller.team.id;
  const acknowledged = { acknowledgedBy: caller.userId, acknowledgedAt: now, begunAt: now, updatedAt: now, dueAt: now };
  return {
    quota,
    async find(serverId) {
      // A pass that is ending holds its row: what it writes is seen here, or comes after.
      await tx.$queryRaw`SELECT FROM adopted_server WHERE team_id = ${teamId}::uuid AND server_id = ${BigInt(serverId)} FOR UPDATE`;
      const row = await tx.adoptedServer.findFirst({
        where: { teamId, connectionId, serverId },
        include: withServerNames,
      });
      return row && serverRecordOf(row);
    },
    count: () => tx.adoptedServer.count({ where: { teamId } }),
    claimKey: (request, operationId) => claimKey(tx, caller, request, operationId),
    async insert({ serverID: serverId, ...spec }, name, operationId) {
      const data = { teamId, connectionId, serverId, ...spec, name, operationId, createdAt: now, ...acknowledged };
      const server = serverRecordOf(await tx.adoptedServer.create({ data, include: withServerNames }));
      await begin(tx, caller, { server, operationId, kind: 'server.adopt', now });
      return server;
    },
    async restart({ id }, { serverID: _known, ...spec }, operationId) {
      const row = await tx.adoptedServer.update({
        where: { id, teamId },
        data: {
          ...{ ...spec, ...acknowledged, operationId, phase: 'Adopting', message: '', failures: 0 },
          ...{ generation: { increment: 1 }, image: null, rebuildAskedAt: null, rebuildActionId: null },
          // What it was a node of stays: somebody has to let go of the Node.
          ...{ purpose: 'adopt', nodeReady: false },
        },
        include: withServerNames,
      });
      const server = serverRecordOf(row);
      await begin(tx, caller, { server, operationId, kind: 'server.adopt', now });
      return server;
    },
    async deregister({ id }, operationId) {
      const row = await tx.adoptedServer.update({
        where: { id, teamId },
        data: {
          ...{ phase: 'Deregistering', message: '', operationId, failures: 0 },
          ...{ deregisterRequestedAt: now, updatedAt: now, dueAt: now },
        },
        include: withServerNames,
      });
      const server = serverRecordOf(row);
      await tx.operation.updateMany({
        where: { teamId, targetId: id, state: { in: ['queued', 'running'] } },
        data: { state: 'superseded', updatedAt: now, finishedAt: now },
      });
      await begin(tx, caller, { server, operationId, kind: 'server.deregister', now });
      return server;
    },
  };
}

interface Begun {
  readonly server: AdoptedServerRecord;
  readonly operationId: string;
  readonly kind: 'server.adopt' | 'server.deregister';
  readonly now: Date;
}

async function begin(tx: Transaction, caller: Caller, { server, operationId, kind, now }: Begun): Promise<void> {
  const { id: targetId, generation, spec, connectionRef } = server;
  await beginOperation(
    tx,
    caller,
    { id: operationId, kind, generation, desiredHash: desiredHashOf({ kind, spec }), isDone: false, now },
    {
      ...{ action: kind, target: { kind: 'AdoptedServer', id: targetId, name: serverNameOf(spec) } },
      detail: { connectionRef },
    },
  );
}

type Row = NonNullable<Awaited<ReturnType<typeof findRow>>>;
const findRow = (tx: Transaction, id: string) =>
  tx.adoptedServer.findUnique({ where: { id }, include: withServerNames });

export function serverRecordOf(row: Row): AdoptedServerRecord {
  const { id, name, message, operationId, generation, claimToken, deregisterRequestedAt } = row;
  const { adoptedAt, observedAt, createdAt, updatedAt, connection, nodePool } = row;
  return {
    ...{ id, name, message, operationId, generation, claimToken, deregisterRequestedAt },
    ...{ adoptedAt, observedAt, createdAt, updatedAt, connectionRef: connection.ref, phase: row.phase as ServerPhase },
    spec: {
      serverID: Number(row.serverId),
      serverType: row.serverType,
      location: row.location,
      architecture: row.architecture as AdoptedServerSpec['architecture'],
      serverKind: row.serverKind as AdoptedServerSpec['serverKind'],
    },
    claimedBy: nodePool && { cluster: nodePool.cluster.name, nodePool: nodePool.name },
    isMember: row.nodeName !== null,
  };
}
