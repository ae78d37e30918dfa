import {
  desiredHashOf,
  keepConnection,
  lockServer,
  prismaSelect,
  type SealedToken,
  type ServerShownRow,
  type ServerSpecRow,
  type ServerStateRow,
  sealedTokenOf,
  serverColumns,
  serverSpecOf,
  serverStateOf,
} from '@corral/cluster-data';
import {
  type AdoptedServerSpec,
  asConnectionId,
  asOperationId,
  type ConnectionId,
  type ConnectionPhase,
  type OperationId,
  type ServerId,
} from '@corral/contracts';
import { isUniqueViolation, type Prisma, type Transaction } from '@corral/database';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { findKey } from '../changes/idempotency-keys.js';
import { beginOperation } from '../operations/store.js';
import { found } from '../problem.js';
import type { Services } from '../services.js';
import { type AdoptedServerRecord, serverNameOf } from './view.js';

/** Columns without the connection: Prisma reads two relations at once, which a transaction's only database connection cannot. */
const shownInChange = {
  ...prismaSelect({ ...serverColumns.spec, ...serverColumns.state, ...serverColumns.shown }),
  nodePool: { select: { name: true, cluster: { select: { name: true } } } },
} as const;

/** What an answer shows of a server. Transactions use `shownInChange`. */
export const shownOfServer = { ...shownInChange, connection: { select: { ref: true } } } as const;

/* Adopted servers of a team. Every change is written together with its operation and audit entry. */

export interface ServerConnection {
  readonly id: ConnectionId;
  readonly ref: string;
  readonly phase: ConnectionPhase;
  readonly sealed: SealedToken;
}

/** @throws Problem `not_found` when the team has no such connection */
export async function serverConnectionOf(prisma: Prisma, { team }: Caller, ref: string): Promise<ServerConnection> {
  const row = found(await prisma.connection.findUnique({ where: { teamId_ref: { teamId: team.id, ref } } }));
  return { id: asConnectionId(row.id), ref, phase: row.phase, sealed: sealedTokenOf(row) };
}

export async function listServers(prisma: Prisma, { team }: Caller, ref: string): Promise<AdoptedServerRecord[]> {
  const where = { teamId: team.id, connection: { ref } };
  const rows = await prisma.adoptedServer.findMany({ where, orderBy: { serverId: 'asc' }, select: shownOfServer });
  return rows.map(serverRecordOf);
}

export async function findServer(
  prisma: Prisma,
  { team }: Caller,
  ref: string,
  serverId: number,
): Promise<AdoptedServerRecord | null> {
  const where = { teamId: team.id, connection: { ref }, serverId };
  const row = await prisma.adoptedServer.findFirst({ where, select: shownOfServer });
  return row && serverRecordOf(row);
}

/** A server and the operation that a request created or found for it. */
export interface ServerOutcome {
  readonly server: AdoptedServerRecord;
  readonly operationId: OperationId;
}

/**
 * Finds the outcome of the first request with this key. Null for a new request or when the server no longer exists.
 *
 * @throws Problem `idempotency_key_reused`
 */
export async function findReplay(prisma: Prisma, caller: Caller, request: KeyedRequest): Promise<ServerOutcome | null> {
  const firstId = await findKey(prisma, caller, request);
  if (firstId === null) return null;
  const operationId = asOperationId(firstId);
  const teamId = caller.team.id;
  const operation = await prisma.operation.findUnique({ where: { id: operationId, teamId } });
  if (operation === null) return null;
  const where = { id: operation.targetId, teamId };
  const row = await prisma.adoptedServer.findUnique({ where, select: shownOfServer });
  return row && { server: serverRecordOf(row), operationId };
}

/** The server id is unique across all teams, and another team has adopted the server. */
export class ServerTaken extends Error {
  override readonly name = 'ServerTaken';
}

/** A change of the servers of one connection. The team's changes are locked meanwhile. */
export interface ServerChange {
  readonly tx: Transaction;
  readonly caller: Caller;
  readonly connectionId: ConnectionId;
  readonly connectionRef: string;
  readonly now: Date;
}

/**
 * Runs a change of the servers of a connection in one transaction.
 *
 * @throws Problem `not_found` when the connection no longer exists
 * @throws ServerTaken when another team has adopted the server
 */
export async function changeServers<T>(
  { changeTeam }: Services,
  caller: Caller,
  connectionId: ConnectionId,
  work: (change: ServerChange) => Promise<T>,
): Promise<T> {
  try {
    return await changeTeam(caller, async (tx, now) => {
      const teamId = caller.team.id;
      await keepConnection(tx, teamId, connectionId);
      const connection = found(await tx.connection.findUnique({ where: { id: connectionId, teamId } }));
      return work({ tx, caller, connectionId, connectionRef: connection.ref, now });
    });
  } catch (error) {
    // The team's changes are locked, so only another team can have taken the id.
    throw isUniqueViolation(error) ? new ServerTaken() : error;
  }
}

/** Finds a server and locks it. */
export async function lockServerOf(change: ServerChange, serverId: number): Promise<AdoptedServerRecord | null> {
  const { tx, caller, connectionId } = change;
  const teamId = caller.team.id;
  await lockServer(tx, teamId, serverId);
  const row = await tx.adoptedServer.findFirst({ where: { teamId, connectionId, serverId }, select: shownInChange });
  return row && recordInChange(change, row);
}

/** The number of the team's servers over all connections, and the team's own quota if it has one. */
export async function countServers({
  tx,
  caller: { team },
}: ServerChange): Promise<{ readonly count: number; readonly override: number | null }> {
  const { adoptedServersMax: override } = await tx.team.findUniqueOrThrow({ where: { id: team.id } });
  return { count: await tx.adoptedServer.count({ where: { teamId: team.id } }), override };
}

const acknowledged = ({ caller, now }: ServerChange) => ({
  acknowledgedBy: caller.userId,
  acknowledgedAt: now,
  begunAt: now,
  updatedAt: now,
  dueAt: now,
});

export async function insertServer(
  change: ServerChange,
  { serverID: serverId, ...spec }: AdoptedServerSpec,
  name: string,
  operationId: OperationId,
): Promise<AdoptedServerRecord> {
  const { tx, caller, connectionId, now } = change;
  const ids = { teamId: caller.team.id, connectionId, serverId, operationId };
  const data = { ...ids, ...spec, name, createdAt: now, ...acknowledged(change) };
  const server = recordInChange(change, await tx.adoptedServer.create({ data, select: shownInChange }));
  await begin(change, { server, operationId, kind: 'server.adopt' });
  return server;
}

/** Adopts a failed server that was acknowledged again. */
export async function restartServer(
  change: ServerChange,
  id: ServerId,
  { serverID: _known, ...spec }: AdoptedServerSpec,
  operationId: OperationId,
): Promise<AdoptedServerRecord> {
  const { tx, caller } = change;
  const row = await tx.adoptedServer.update({
    where: { id, teamId: caller.team.id },
    data: {
      ...spec,
      ...acknowledged(change),
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
    select: shownInChange,
  });
  const server = recordInChange(change, row);
  await begin(change, { server, operationId, kind: 'server.adopt' });
  return server;
}

/** Ends open operations of the server and writes the request to detach it. */
export async function detachServer(
  change: ServerChange,
  id: ServerId,
  operationId: OperationId,
): Promise<AdoptedServerRecord> {
  const { tx, caller, now } = change;
  const row = await tx.adoptedServer.update({
    where: { id, teamId: caller.team.id },
    data: {
      phase: 'Deregistering',
      message: '',
      operationId,
      failures: 0,
      deregisterRequestedAt: now,
      updatedAt: now,
      dueAt: now,
    },
    select: shownInChange,
  });
  const server = recordInChange(change, row);
  await begin(change, { server, operationId, kind: 'server.deregister', supersedes: true });
  return server;
}

interface Begun {
  readonly server: AdoptedServerRecord;
  readonly operationId: OperationId;
  readonly kind: 'server.adopt' | 'server.deregister';
  readonly supersedes?: boolean;
}

async function begin(
  { tx, caller, now }: ServerChange,
  { server, operationId, kind, supersedes = false }: Begun,
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

const recordInChange = ({ connectionRef: ref }: ServerChange, row: Omit<Row, 'connection'>): AdoptedServerRecord =>
  serverRecordOf({ ...row, connection: { ref } });

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
