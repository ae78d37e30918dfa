import {
  type ConnectionRow,
  cancelOperations,
  connectionColumns,
  connectionOf,
  includeCreator,
  lockClustersOfRef,
  lockConnection,
  operationOf,
  prismaSelect,
  sealedTokenOf,
  tokenColumnsOf,
} from '@corral/cluster-data';
import { asClusterId, asServerId, type ConnectionId, openOperationStates } from '@corral/contracts';
import { noJson, type Prisma } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { Caller } from '../changes/caller.js';
import { desiredHashOf } from '../changes/desired-hash.js';
import { registerKey } from '../changes/idempotency-keys.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { beginOperation } from '../operations/store.js';
import type { ConnectionRecord } from './body.js';
import type { TokenStatus } from './decide-connection.js';
import type { ConnectionStore, ConnectionTransaction } from './transaction.js';

export const shownOfConnection = {
  ...prismaSelect(connectionColumns.shown),
  priceList: { select: { currency: true } },
} as const;
const sealedToo = { ...shownOfConnection, ...prismaSelect(connectionColumns.token) } as const;

/** Delay in ms before credentials are removed. A pass that lost its lease may still be writing them until then. */
const CLEAN_UP_AFTER_MS = 60_000;

/** Connections of a team. Tokens are only handled encrypted. */
export const connectionStore = (prisma: Prisma, changeTeam: ChangeTeam): ConnectionStore => ({
  async list({ team }, phase) {
    const where = { teamId: team.id, ...(phase === null ? {} : { phase }) };
    return (await prisma.connection.findMany({ where, orderBy: { ref: 'asc' }, select: shownOfConnection })).map(
      connectionRecordOf,
    );
  },

  async find({ team }, ref) {
    const row = await prisma.connection.findUnique({
      where: { teamId_ref: { teamId: team.id, ref } },
      select: shownOfConnection,
    });
    return row && connectionRecordOf(row);
  },

  async resourcesInProject({ team }, ref) {
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
  },

  change: (caller, work) => changeTeam(caller, (tx, now) => work(transactionOf(tx, caller, now))),
});

function transactionOf(tx: Transaction, caller: Caller, now: Date): ConnectionTransaction {
  const teamId = caller.team.id;
  return {
    async find(ref) {
      // A change also writes to the clusters and prices of the connection, so these are locked too.
      await lockClustersOfRef(tx, teamId, ref);
      await lockConnection(tx, teamId, ref);
      const row = await tx.connection.findUnique({ where: { teamId_ref: { teamId, ref } }, select: sealedToo });
      return row && { ...connectionRecordOf(row), sealed: sealedTokenOf(row) };
    },
    async findById(id) {
      const row = await tx.connection.findUnique({ where: { teamId, id }, select: shownOfConnection });
      return row && connectionRecordOf(row);
    },
    count: () => tx.connection.count({ where: { teamId } }),
    async insert({ id, ref, name, provider, providerConfig, sealed, tokenStatus }) {
      const row = await tx.connection.create({
        data: {
          id,
          teamId,
          ref,
          name,
          provider,
          createdAt: now,
          updatedAt: now,
          providerConfig: providerConfig as object,
          ...tokenColumnsOf(sealed),
          ...tokenStatusColumns(tokenStatus, now),
        },
        select: shownOfConnection,
      });
      return connectionRecordOf(row);
    },
    async replace(id, { name, providerConfig, sealed, tokenStatus }) {
      const row = await tx.connection.update({
        where: { teamId, id },
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
      if (sealed !== null || tokenStatus !== null) await duePrices(tx, id, now);
      if (tokenStatus !== null) await dueAwaitedVerification(tx, id, now);
      return connectionRecordOf(row);
    },
    async restate(id, tokenStatus) {
      const { phase } = await tx.connection.findUniqueOrThrow({ where: { teamId, id }, select: { phase: true } });
      if (phase !== tokenStatus.phase) await duePrices(tx, id, now);
      const row = await tx.connection.update({
        where: { teamId, id },
        data: { ...tokenStatusColumns(tokenStatus, now), ...(phase === tokenStatus.phase ? {} : { updatedAt: now }) },
        select: shownOfConnection,
      });
      await dueAwaitedVerification(tx, id, now);
      return connectionRecordOf(row);
    },
    async remove(id) {
      const { gardenName: name } = await tx.connection.delete({ where: { teamId, id }, select: { gardenName: true } });
      await cancelOperations(tx, { teamId, targetId: id, now });
      const { projectNamespace: namespace } = await tx.team.findUniqueOrThrow({
        where: { id: teamId },
        select: { projectNamespace: true },
      });
      // Without a namespace nothing was ever written to the garden. With one, credentials may exist even when the row
      // does not say so, because an answer may have been lost.
      if (namespace === null) return;
      const dueAt = new Date(now.getTime() + CLEAN_UP_AFTER_MS);
      await tx.gardenCleanup.create({ data: { teamId, namespace, name, dueAt, createdAt: now } });
    },
    async usersOf(connectionId) {
      const where = { teamId, connectionId };
      const clusters = await tx.cluster.findMany({ where, orderBy: { name: 'asc' }, select: { name: true } });
      const servers = await tx.adoptedServer.findMany({
        where,
        orderBy: { serverId: 'asc' },
        select: { serverId: true },
      });
      return { clusters: clusters.map(({ name }) => name), servers: servers.map(({ serverId }) => String(serverId)) };
    },
    async makeUsersDue(connectionId) {
      // Skips drafts: they have nothing on the garden that uses the token.
      const where = { teamId, connectionId, startedAt: { not: null } };
      const rows = await tx.cluster.updateManyAndReturn({ where, data: { dueAt: now }, select: { id: true } });
      return rows.map(({ id }) => asClusterId(id));
    },
    async makeServersDue(connectionId) {
      const where = { teamId, connectionId, dueAt: { not: null } };
      const rows = await tx.adoptedServer.updateManyAndReturn({ where, data: { dueAt: now }, select: { id: true } });
      return rows.map(({ id }) => asServerId(id));
    },
    async findVerification(targetId) {
      const where = { teamId, targetId, state: { in: [...openOperationStates] } };
      const row = await tx.operation.findFirst({ where, include: includeCreator });
      return row && operationOf(row);
    },
    async findOperation(id) {
      const row = await tx.operation.findUnique({ where: { teamId, id }, include: includeCreator });
      return row && operationOf(row);
    },
    async beginVerification({ id, ref, generation, name, provider, providerConfig }, operationId) {
      await tx.connection.update({ where: { teamId, id }, data: { verifyAt: now }, select: { id: true } });
      const desiredHash = desiredHashOf({ name, provider, providerConfig });
      return beginOperation(
        tx,
        caller,
        { id: operationId, kind: 'connection.verify', generation, desiredHash, isDone: false, now },
        { action: 'connection.verify', target: { kind: 'Connection', id, name: ref } },
      );
    },
    registerKey: (request, resourceId) => registerKey(tx, caller, request, resourceId),
    async audit(action, { id, ref }, what = {}) {
      await recordAudit(tx, caller, { action, target: { kind: 'Connection', id, name: ref }, ...what });
    },
  };
}

/** Prices are read again, because a new token may belong to a project with another currency, or reads may work now. */
const duePrices = (tx: Transaction, connectionId: ConnectionId, now: Date) =>
  tx.priceList.updateMany({ where: { connectionId }, data: { dueAt: now } });

/** An open operation waits for a verdict on the token, so the reconciler verifies it again and ends the operation. */
async function dueAwaitedVerification(tx: Transaction, id: ConnectionId, now: Date): Promise<void> {
  const open = await tx.operation.count({ where: { targetId: id, state: { in: [...openOperationStates] } } });
  if (open > 0) await tx.connection.update({ where: { id }, data: { verifyAt: now }, select: { id: true } });
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
