import { type ConnectionPhase, openOperationStates } from '@corral/contracts';
import { noJson, type Prisma } from '@corral/database';
import type { Caller } from '../domain/caller.js';
import type { ConnectionRecord, SealedToken } from '../domain/connection-record.js';
import type { ConnectionChanges, ConnectionStore } from '../domain/connections.js';
import type { Standing } from '../domain/decide-connection.js';
import { desiredHashOf } from '../domain/desired-hash.js';
import { recordAudit } from './audit.js';
import { beginOperation } from './begin-operation.js';
import { operationOf } from './cluster-rows.js';
import { claimKey } from './idempotency-keys.js';
import type { ChangeTeam, Transaction } from './team-changes.js';

export const shownOfConnection = {
  ...{
    id: true,
    ref: true,
    generation: true,
    name: true,
    provider: true,
    providerConfig: true,
    phase: true,
    verifiedAt: true,
  },
  ...{ message: true, project: true, createdAt: true, updatedAt: true },
  priceList: { select: { currency: true } },
} as const;
const sealedToo = { ...shownOfConnection, sealedToken: true, tokenKeyId: true } as const;

/** A pass that lost its turn may have a call under way that writes the credentials: it has ended by then. */
const CLEAN_UP_AFTER_MS = 60_000;

/** Connections of a team. Their tokens go in and out as they are sealed. */
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

  async belongings({ team }, ref) {
    // Of the other kinds the project knows nothing.
    const where = { teamId: team.id, connection: { ref }, serverKind: 'cloud', phase: { not: 'Missing' } };
    const rows = await prisma.adoptedServer.findMany({
      where,
      orderBy: { serverId: 'asc' },
      select: { serverId: true },
    });
    // Those that have been there and are awake have nodes, whatever else is wrong with them.
    const clusters = await prisma.$queryRaw<{ name: string }[]>`
      SELECT 'shoot--' || team.project_name || '--' || cluster.shoot_name AS name
      FROM cluster JOIN team ON team.id = cluster.team_id JOIN connection ON connection.id = cluster.connection_id
      WHERE cluster.team_id = ${team.id}::uuid AND connection.ref = ${ref} AND observed_generation > 0
        AND NOT (spec->>'hibernated')::boolean AND cluster.phase IN ('Ready', 'Degraded', 'Updating')
      ORDER BY cluster.id`;
    return { serverIds: rows.map(({ serverId }) => Number(serverId)), clusters: clusters.map(({ name }) => name) };
  },

  change: (caller, work) => changeTeam(caller, (tx, now) => work(changesOf(tx, caller, now))),
});

function changesOf(tx: Transaction, caller: Caller, now: Date): ConnectionChanges {
  const teamId = caller.team.id;
  return {
    async find(ref) {
      // Its clusters and its prices are told of what changes, so they come with it, in the order in which all take them.
      await tx.$queryRaw`
        SELECT id FROM cluster
        WHERE connection_id = (SELECT id FROM connection WHERE team_id = ${teamId}::uuid AND ref = ${ref})
        ORDER BY id FOR NO KEY UPDATE`;
      // A cluster that is being declared on the connection holds its row: whoever comes second sees the other.
      await tx.$queryRaw`SELECT id FROM connection WHERE team_id = ${teamId}::uuid AND ref = ${ref} FOR UPDATE`;
      const row = await tx.connection.findUnique({ where: { teamId_ref: { teamId, ref } }, select: sealedToo });
      return row && { ...connectionRecordOf(row), sealed: { keyId: row.tokenKeyId, bytes: row.sealedToken } };
    },
    async findById(id) {
      const row = await tx.connection.findUnique({ where: { teamId, id }, select: shownOfConnection });
      return row && connectionRecordOf(row);
    },
    count: () => tx.connection.count({ where: { teamId } }),
    async insert({ id, ref, name, provider, providerConfig, sealed, standing }) {
      const row = await tx.connection.create({
        data: {
          ...{ id, teamId, ref, name, provider, createdAt: now, updatedAt: now },
          providerConfig: providerConfig as object,
          ...tokenColumns(sealed),
          ...standingColumns(standing, now),
        },
        select: shownOfConnection,
      });
      return connectionRecordOf(row);
    },
    async replace(id, { name, providerConfig, sealed, standing }) {
      const row = await tx.connection.update({
        where: { teamId, id },
        data: {
          ...{ name, providerConfig: providerConfig as object, updatedAt: now },
          generation: { increment: 1 },
          ...(sealed && { ...tokenColumns(sealed), tokenVersion: { increment: 1 }, verifiedAt: null }),
          ...(standing && standingColumns(standing, now)),
        },
        select: shownOfConnection,
      });
      if (sealed !== null || standing !== null) await duePrices(tx, id, now);
      if (standing !== null) await dueAwaitedVerification(tx, id);
      return connectionRecordOf(row);
    },
    async restate(id, standing) {
      const { phase } = await tx.connection.findUniqueOrThrow({ where: { teamId, id }, select: { phase: true } });
      if (phase !== standing.phase) await duePrices(tx, id, now);
      const row = await tx.connection.update({
        where: { teamId, id },
        data: { ...standingColumns(standing, now), ...(phase === standing.phase ? {} : { updatedAt: now }) },
        select: shownOfConnection,
      });
      await dueAwaitedVerification(tx, id);
      return connectionRecordOf(row);
    },
    async remove(id) {
      const { gardenName: name } = await tx.connection.delete({ where: { teamId, id }, select: { gardenName: true } });
      await tx.operation.updateMany({
        where: { teamId, targetId: id, state: { in: [...openOperationStates] } },
        data: { state: 'cancelled', updatedAt: now, finishedAt: now },
      });
      const { projectNamespace: namespace } = await tx.team.findUniqueOrThrow({
        where: { id: teamId },
        select: { projectNamespace: true },
      });
      // Without a namespace nothing was ever written to the garden. With one, something may have been, whatever the
      // connection knows of it: an answer may have been lost.
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
      // A draft stays one: nothing of it is on the garden that could take up the token.
      const rows = await tx.$queryRaw<{ id: string }[]>`
        UPDATE cluster SET due_at = clock_timestamp()
        WHERE team_id = ${teamId}::uuid AND connection_id = ${connectionId}::uuid AND started_at IS NOT NULL
        RETURNING id`;
      return rows.map(({ id }) => id);
    },
    async makeServersDue(connectionId) {
      const rows = await tx.$queryRaw<{ id: string }[]>`
        UPDATE adopted_server SET due_at = clock_timestamp()
        WHERE team_id = ${teamId}::uuid AND connection_id = ${connectionId}::uuid AND due_at IS NOT NULL
        RETURNING id`;
      return rows.map(({ id }) => id);
    },
    async findVerification(targetId) {
      const where = { teamId, targetId, state: { in: [...openOperationStates] } };
      const row = await tx.operation.findFirst({ where });
      return row && operationOf(row);
    },
    async findOperation(id) {
      const row = await tx.operation.findUnique({ where: { teamId, id } });
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
    claimKey: (request, resourceId) => claimKey(tx, caller, request, resourceId),
    async audit(action, { id, ref }, detail = {}) {
      await recordAudit(tx, caller, { action, target: { kind: 'Connection', id, name: ref }, detail });
    },
  };
}

/** Another token may be of a project that pays in another currency, and one that is good now may not have been. */
const duePrices = (tx: Transaction, connectionId: string, now: Date) =>
  tx.priceList.updateMany({ where: { connectionId }, data: { dueAt: now } });

/** Somebody waits for what the provider says of the present token: it is shown once more, soon and by who tells of it. */
const dueAwaitedVerification = (tx: Transaction, connectionId: string) => tx.$executeRaw`
  UPDATE connection SET verify_at = clock_timestamp()
  WHERE id = ${connectionId}::uuid
    AND EXISTS (SELECT FROM operation WHERE target_id = ${connectionId}::uuid AND state IN ('queued', 'running'))`;

const tokenColumns = ({ keyId, bytes }: SealedToken) => ({ sealedToken: new Uint8Array(bytes), tokenKeyId: keyId });

const standingColumns = ({ phase, message, project, isVerified, againMs }: Standing, now: Date) => ({
  ...{
    phase,
    message,
    project: project ?? noJson,
    verifyAt: new Date(now.getTime() + againMs),
    verifyFailures: phase === 'Unverified' ? 1 : 0,
  },
  ...(isVerified ? { verifiedAt: now } : {}),
});

interface ConnectionRow extends Omit<ConnectionRecord, 'phase' | 'providerConfig' | 'project' | 'currency'> {
  readonly phase: ConnectionPhase;
  readonly providerConfig: unknown;
  readonly project: unknown;
  readonly priceList: { readonly currency: string | null } | null;
}

export function connectionRecordOf({
  id,
  ref,
  generation,
  name,
  provider,
  providerConfig,
  project,
  priceList,
  ...rest
}: ConnectionRow): ConnectionRecord {
  const { phase, verifiedAt, message, createdAt, updatedAt } = rest;
  return {
    ...{ id, ref, generation, name, provider, phase, verifiedAt, message, createdAt, updatedAt },
    providerConfig: providerConfig as ConnectionRecord['providerConfig'],
    project: project as ConnectionRecord['project'],
    currency: priceList?.currency ?? null,
  };
}
