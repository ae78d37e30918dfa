import {
  type ConnectionRow,
  connectionColumns,
  connectionOf,
  desiredHashOf,
  includeCreator,
  lockClustersOf,
  lockConnection,
  type OperationRecord,
  operationOf,
  prismaSelect,
  type SealedToken,
  sealedTokenOf,
  tokenColumnsOf,
} from '@corral/cluster-data';
import {
  asConnectionId,
  type ConnectionId,
  type ConnectionPhase,
  type OperationId,
  openOperationStates,
} from '@corral/contracts';
import { noJson, type Prisma, type Transaction } from '@corral/database';
import type { Caller } from '../changes/caller.js';
import { beginOperation } from '../operations/store.js';
import type { ProjectResources } from '../servers/cloud-project.js';
import type { TokenStatus } from './rules.js';
import type { ConnectionRecord } from './view.js';

export const shownOfConnection = {
  ...prismaSelect(connectionColumns.shown),
  priceList: { select: { currency: true } },
} as const;
const sealedToo = { ...shownOfConnection, ...prismaSelect(connectionColumns.token) } as const;

/* Connections of a team. Tokens are only handled encrypted. */

export async function listConnections(
  prisma: Prisma,
  { team }: Caller,
  phase: ConnectionPhase | null,
): Promise<ConnectionRecord[]> {
  const where = { teamId: team.id, ...(phase === null ? {} : { phase }) };
  const rows = await prisma.connection.findMany({ where, orderBy: { ref: 'asc' }, select: shownOfConnection });
  return rows.map(connectionRecordOf);
}

export async function findConnection(prisma: Prisma, { team }: Caller, ref: string): Promise<ConnectionRecord | null> {
  const where = { teamId_ref: { teamId: team.id, ref } };
  const row = await prisma.connection.findUnique({ where, select: shownOfConnection });
  return row && connectionRecordOf(row);
}

/** The servers and clusters that the connection is known to have in its cloud project. */
export async function resourcesInProject(prisma: Prisma, { team }: Caller, ref: string): Promise<ProjectResources> {
  // Servers of other kinds are not in the cloud project.
  const where = { teamId: team.id, connection: { ref }, serverKind: 'cloud', phase: { not: 'Missing' } };
  const rows = await prisma.adoptedServer.findMany({
    where,
    orderBy: { serverId: 'asc' },
    select: { serverId: true },
  });
  // Awake clusters that were reconciled before have nodes, even when they are degraded.
  const clusters = await prisma.cluster.findMany({
    where: {
      teamId: team.id,
      connection: { ref },
      observedGeneration: { gt: 0 },
      spec: { path: ['hibernated'], equals: false },
      phase: { in: ['Ready', 'Degraded', 'Updating'] },
    },
    orderBy: { id: 'asc' },
    select: { shootName: true, team: { select: { projectName: true } } },
  });
  return {
    serverIds: rows.map(({ serverId }) => Number(serverId)),
    clusters: clusters.map((cluster) => `shoot--${cluster.team.projectName}--${cluster.shootName}`),
  };
}

/** A change of a team's connections. The team's changes are locked, so what is read here cannot change meanwhile. */
export interface ConnectionChange {
  readonly tx: Transaction;
  readonly caller: Caller;
  readonly now: Date;
}

export type StoredConnection = ConnectionRecord & { readonly sealed: SealedToken };

/** Locks the connection, with its clusters and prices: a change also writes to these. */
export async function lockConnectionOf(
  { tx, caller }: ConnectionChange,
  ref: string,
): Promise<StoredConnection | null> {
  const teamId = caller.team.id;
  const where = { teamId_ref: { teamId, ref } };
  const found = await tx.connection.findUnique({ where, select: { id: true } });
  if (found === null) return null;
  await lockClustersOf(tx, asConnectionId(found.id));
  await lockConnection(tx, teamId, ref);
  const row = await tx.connection.findUnique({ where, select: sealedToo });
  return row && { ...connectionRecordOf(row), sealed: sealedTokenOf(row) };
}

export async function findById({ tx, caller }: ConnectionChange, id: ConnectionId): Promise<ConnectionRecord | null> {
  const row = await tx.connection.findUnique({ where: { teamId: caller.team.id, id }, select: shownOfConnection });
  return row && connectionRecordOf(row);
}

export const countConnections = ({
  tx,
  caller,
}: {
  readonly tx: Pick<Transaction, 'connection'>;
  readonly caller: Caller;
}): Promise<number> => tx.connection.count({ where: { teamId: caller.team.id } });

interface NewConnection {
  readonly id: ConnectionId;
  readonly ref: string;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly sealed: SealedToken;
  readonly tokenStatus: TokenStatus;
}

export async function insertConnection(
  { tx, caller, now }: ConnectionChange,
  { sealed, tokenStatus, providerConfig, ...named }: NewConnection,
): Promise<ConnectionRecord> {
  const row = await tx.connection.create({
    data: {
      ...named,
      teamId: caller.team.id,
      createdAt: now,
      updatedAt: now,
      providerConfig: providerConfig as object,
      ...tokenColumnsOf(sealed),
      ...tokenStatusColumns(tokenStatus, now),
    },
    select: shownOfConnection,
  });
  return connectionRecordOf(row);
}

interface ConnectionReplacement {
  readonly name: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  /** Null keeps the stored token. */
  readonly sealed: SealedToken | null;
  /** Null when the provider was not asked. */
  readonly tokenStatus: TokenStatus | null;
}

export async function replaceConnection(
  change: ConnectionChange,
  id: ConnectionId,
  { name, providerConfig, sealed, tokenStatus }: ConnectionReplacement,
): Promise<ConnectionRecord> {
  const { tx, caller, now } = change;
  const row = await tx.connection.update({
    where: { teamId: caller.team.id, id },
    data: {
      name,
      providerConfig: providerConfig as object,
      updatedAt: now,
      generation: { increment: 1 },
      ...(sealed && { ...tokenColumnsOf(sealed), tokenVersion: { increment: 1 }, verifiedAt: null }),
      ...(tokenStatus && tokenStatusColumns(tokenStatus, now)),
    },
    select: shownOfConnection,
  });
  if (sealed !== null || tokenStatus !== null) await duePrices(change, id);
  if (tokenStatus !== null) await dueAwaitedVerification(change, id);
  return connectionRecordOf(row);
}

/** Stores what the provider said about the stored token. */
export async function restateConnection(
  change: ConnectionChange,
  { id, phase }: ConnectionRecord,
  tokenStatus: TokenStatus,
): Promise<ConnectionRecord> {
  const { tx, caller, now } = change;
  const isOtherPhase = phase !== tokenStatus.phase;
  if (isOtherPhase) await duePrices(change, id);
  const row = await tx.connection.update({
    where: { teamId: caller.team.id, id },
    data: { ...tokenStatusColumns(tokenStatus, now), ...(isOtherPhase ? { updatedAt: now } : {}) },
    select: shownOfConnection,
  });
  await dueAwaitedVerification(change, id);
  return connectionRecordOf(row);
}

/** Names of the clusters and numbers of the servers that use the connection. */
export async function usersOf(
  { tx, caller }: ConnectionChange,
  connectionId: ConnectionId,
): Promise<{ clusters: string[]; servers: number[] }> {
  const where = { teamId: caller.team.id, connectionId };
  const clusters = await tx.cluster.findMany({ where, orderBy: { name: 'asc' }, select: { name: true } });
  const servers = await tx.adoptedServer.findMany({
    where,
    orderBy: { serverId: 'asc' },
    select: { serverId: true },
  });
  return { clusters: clusters.map(({ name }) => name), servers: servers.map(({ serverId }) => Number(serverId)) };
}

/** The open operation that verifies the connection, if any. */
export async function findVerification(
  { tx, caller }: ConnectionChange,
  targetId: ConnectionId,
): Promise<OperationRecord | null> {
  const where = { teamId: caller.team.id, targetId, state: { in: [...openOperationStates] } };
  const row = await tx.operation.findFirst({ where, include: includeCreator });
  return row && operationOf(row);
}

/** Marks the verification as due and writes its operation and audit entry. */
export async function beginVerification(
  { tx, caller, now }: ConnectionChange,
  { id, ref, generation, name, provider, providerConfig }: ConnectionRecord,
  operationId: OperationId,
): Promise<OperationRecord> {
  await tx.connection.update({
    where: { teamId: caller.team.id, id },
    data: { verifyAt: now },
    select: { id: true },
  });
  const desiredHash = desiredHashOf({ name, provider, providerConfig });
  return beginOperation(
    tx,
    caller,
    { id: operationId, kind: 'connection.verify', generation, desiredHash, isDone: false, now },
    { action: 'connection.verify', target: { kind: 'Connection', id, name: ref } },
  );
}

/** Prices are read again, because a new token may belong to a project with another currency, or reads may work now. */
const duePrices = ({ tx, caller, now }: ConnectionChange, connectionId: ConnectionId) =>
  tx.priceList.updateMany({ where: { connectionId, connection: { teamId: caller.team.id } }, data: { dueAt: now } });

/** An open operation waits for a verdict on the token, so the reconciler verifies it again and ends the operation. */
async function dueAwaitedVerification({ tx, caller, now }: ConnectionChange, id: ConnectionId): Promise<void> {
  const teamId = caller.team.id;
  const open = await tx.operation.count({ where: { teamId, targetId: id, state: { in: [...openOperationStates] } } });
  if (open > 0) await tx.connection.update({ where: { teamId, id }, data: { verifyAt: now }, select: { id: true } });
}

const tokenStatusColumns = ({ phase, message, project, isVerified, againMs }: TokenStatus, now: Date) => ({
  phase,
  message,
  project: project ?? noJson,
  verifyAt: new Date(now.getTime() + againMs),
  verifyFailures: phase === 'Unverified' ? 1 : 0,
  ...(isVerified ? { verifiedAt: now } : {}),
});

type ShownRow = ConnectionRow & { readonly priceList: { readonly currency: string | null } | null };

export const connectionRecordOf = (row: ShownRow): ConnectionRecord => ({
  ...connectionOf(row),
  currency: row.priceList?.currency ?? null,
});
