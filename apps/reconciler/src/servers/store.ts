import {
  type ConnectionToken,
  connectionColumns,
  connectionTokenOf,
  isNewsAbout,
  isOpenIn,
  operationValues,
  recordAddresses,
  requestVerification,
  type SealedTokenRow,
  type ServerRebuildRow,
  type ServerSpecRow,
  type ServerStateRow,
  selectOf,
  serverColumns,
  serverSpecOf,
  serverStateOf,
  succeedOperations,
  verdictAssignments,
} from '@corral/cluster-data';
import {
  asConnectionId,
  asNodePoolId,
  type ClusterId,
  type ConnectionId,
  type ConnectionPhase,
  type OperationWaiting,
  type RebuildPurpose,
  type ServerId,
  type ServerPhase,
} from '@corral/contracts';
import { type Hold, type Prisma, readClock } from '@corral/database';
import type { ServerReading } from '@corral/hcloud';
import { leaseValues, ourRow, ours, type PassLease, type Released, targetOf } from '../loop/lease.js';
import type { Database } from '../services.js';
import type { NodeCluster, Verdict, WantedServer } from './model.js';

type Update = Parameters<Prisma['adoptedServer']['updateMany']>[0];

/** The wish has not changed since it was read. */
const stillWanted = ({ generation }: WantedServer) => ({ generation, deregisterRequestedAt: null });

const unasked = { image: null, rebuildAskedAt: null, rebuildActionId: null };
const begin = (purpose: RebuildPurpose, phase: ServerPhase, now: Date) => {
  const fresh = { ...unasked, message: '', nodeReady: false, failures: 0, begunAt: now, updatedAt: now };
  return { ...fresh, generation: { increment: 1 }, purpose, phase };
};

/** What the audit log says of a server. */
const named = (serverId: number) => ({ targetKind: 'AdoptedServer', targetName: String(serverId) });

const { spec, state, rebuild } = serverColumns;

/** Parameters of the statement that records a pass. */
const operationParameters = {
  state: '$11',
  progress: '$12',
  error: '$13',
  isFinal: '$14',
  changes: '$10',
  waiting: '$18::jsonb',
} as const;

/** What a pass reads and writes. Each write is conditional on the lease: the one of a stale pass changes nothing. */
export const serverStore = ({ pool, prisma }: Database) => {
  const update = async (lease: PassLease<ServerId>, where: Update['where'], data: Update['data']): Promise<boolean> =>
    (await prisma.adoptedServer.updateMany({ where: { ...ourRow(lease), ...where }, data })).count === 1;

  /**
   * Requests a node count, because the garden reports node changes late. A separate statement: changes of a cluster lock its row
   * before servers.
   */
  const requestCount = async ({ teamId }: PassLease<ServerId>, id: ClusterId): Promise<void> => {
    await prisma.cluster.updateMany({ where: { teamId, id }, data: { nodesDueAt: await readClock(prisma) } });
  };

  return {
    /** @returns also the database's clock; null when a later lease was granted: the pass must stop */
    async read(
      lease: PassLease<ServerId>,
    ): Promise<{ wanted: WantedServer; token: ConnectionToken; now: Date } | null> {
      const { rows } = await pool.query<ServerRow>(
        `SELECT ${selectOf('adopted_server', { ...spec, ...state, ...rebuild })}, clock_timestamp() AS now,
                connection.id AS "connectionId", connection.phase AS "connectionPhase",
                ${selectOf('connection', connectionColumns.token)},
                coalesce(${isOpenIn('operation')} AND operation.kind = 'server.adopt', false) AS "isAdopting",
                node_pool.id AS "poolId", node_pool.name AS "poolName",
                CASE WHEN ${isOpenIn('operation')} THEN operation.waiting END AS waiting,
                ${clusterFacts('claiming')} AS claiming, ${clusterFacts('joined')} AS "currentCluster",
                unread.id AS "unreadHoldId", unread.reason AS "unreadReason", unread.begun_at AS "unreadBegunAt",
                unread.backup_taken_at AS "unreadBackupTakenAt"
         FROM adopted_server
         JOIN team ON team.id = adopted_server.team_id
         JOIN connection ON connection.id = adopted_server.connection_id AND connection.team_id = adopted_server.team_id
         LEFT JOIN operation ON operation.id = adopted_server.operation_id AND operation.team_id = adopted_server.team_id
         LEFT JOIN node_pool ON node_pool.id = node_pool_id AND node_pool.team_id = adopted_server.team_id
         LEFT JOIN cluster claiming
                ON claiming.id = node_pool.cluster_id AND claiming.team_id = adopted_server.team_id
         LEFT JOIN installation_hold unread ON unread.id = adopted_server.unread_hold_id
         LEFT JOIN cluster joined ON joined.id = member_of_id AND joined.team_id = adopted_server.team_id
         WHERE adopted_server.team_id = $1 AND adopted_server.id = $2 AND adopted_server.lease_fence = $3
           AND adopted_server.lease_until IS NOT NULL`,
        leaseValues(lease),
      );
      const [row] = rows;
      if (row === undefined) return null;
      return { wanted: wantedOf(row), token: connectionTokenOf(row), now: row.now };
    },

    /** The server was read, and was not rebuilt since the backup: work on it continues. */
    recordRead: (lease: PassLease<ServerId>): Promise<boolean> => update(lease, {}, { unreadHoldId: null }),

    /** The addresses that the provider states; none for a server that is gone there. */
    recordAddresses: (
      lease: PassLease<ServerId>,
      { serverId }: WantedServer,
      server: ServerReading | 'absent',
    ): Promise<void> =>
      prisma.$transaction(async (tx) => {
        const [held] = await tx.adoptedServer.findMany({ where: ourRow(lease), select: { name: true } });
        if (held === undefined) return;
        const isAbsent = server === 'absent';
        const name = (isAbsent ? held.name : server.name) || String(serverId);
        const found = isAbsent ? [] : server.publicAddresses;
        await recordAddresses(
          tx,
          { teamId: lease.teamId, serverId: lease.id, name },
          found.map((address) => ({ address, kind: 'server', name, pool: null })),
        );
      }),

    /** The label was read back from the provider. */
    recordLabel: async (lease: PassLease<ServerId>, wanted: WantedServer): Promise<boolean> =>
      update(lease, stillWanted(wanted), { claimedAt: await readClock(prisma) }),

    /**
     * Records the upcoming rebuild request, with an audit entry for its first attempt. Later passes read the server's actions before
     * anything else.
     *
     * @returns false when nothing was written, and no request may be sent
     */
    recordRequest: (
      lease: PassLease<ServerId>,
      wanted: WantedServer,
      { askedAt, imageId }: { askedAt: Date; imageId: number },
    ): Promise<boolean> =>
      prisma.$transaction(async (tx) => {
        const { phase, claim, generation, purpose, serverId } = wanted;
        const [image, now] = [String(imageId), await readClock(tx)];
        const nextPhase = phase === 'Adopting' ? 'Rebuilding' : phase;
        const where = { ...ourRow(lease), ...stillWanted(wanted), phase, rebuildAskedAt: null };
        const { count } = await tx.adoptedServer.updateMany({
          where: { ...where, ...(phase === 'Joining' && { nodePoolId: claim?.poolId ?? null }) },
          data: { phase: nextPhase, message: '', image, rebuildAskedAt: askedAt, updatedAt: now },
        });
        if (count === 0) return false;
        const asked = { action: 'server.rebuild', detail: { generation, image, purpose } };
        // A request that was refused for now, or not sent in time, is made again: it stays one rebuild.
        const earlier = await tx.auditEntry.findFirst({
          where: { targetId: lease.id, action: asked.action, detail: { equals: asked.detail } },
          select: { id: true },
        });
        if (earlier === null) {
          await tx.auditEntry.create({ data: { ...targetOf(lease), ...named(serverId), ...asked, createdAt: now } });
        }
        return true;
      }),

    /** The request certainly had no effect, so it may be sent again. */
    forgetRequest: (lease: PassLease<ServerId>, { generation }: WantedServer): Promise<boolean> =>
      update(lease, { generation, rebuildActionId: null }, { rebuildAskedAt: null }),

    recordAction: (lease: PassLease<ServerId>, { generation }: WantedServer, actionId: number): Promise<boolean> =>
      update(lease, { generation }, { rebuildActionId: actionId }),

    /**
     * A new generation that joins a cluster. From now on the cluster may have a node of that name.
     *
     * @returns false when nothing was written because the claim has changed
     */
    beginJoin: async (
      lease: PassLease<ServerId>,
      wanted: WantedServer,
      { cluster, nodeName }: { cluster: { readonly id: ClusterId }; nodeName: string },
    ): Promise<boolean> =>
      wanted.claim !== null &&
      update(
        lease,
        {
          ...stillWanted(wanted),
          OR: [{ phase: 'Ready' }, { phase: 'Adopting', serverKind: { not: 'cloud' } }],
          nodeName: null,
          nodePoolId: wanted.claim.poolId,
        },
        { ...begin('join', 'Joining', await readClock(prisma)), memberOfId: cluster.id, nodeName },
      ),

    /** A new generation for the clean rebuild. The current cluster stays recorded until then. */
    beginLeave: async (lease: PassLease<ServerId>, wanted: WantedServer): Promise<boolean> =>
      update(
        lease,
        { ...stillWanted(wanted), nodePoolId: wanted.claim?.poolId ?? null },
        begin('leave', 'Leaving', await readClock(prisma)),
      ),

    /** The provider refused the token. Requests a verification, unless one was made recently. */
    requestVerification: ({ teamId }: PassLease<ServerId>, connectionId: ConnectionId): Promise<void> =>
      requestVerification(pool, { teamId, connectionId }, 'provider'),

    /**
     * Releases a lease and records the verdict in one statement. Nothing is reported for a server that was acknowledged again, or is
     * to be detached.
     *
     * @param found name: the provider's server name, or null when it was not read. waiting: why its operation makes no progress, and
     *   since when
     */
    async recordPass(
      lease: PassLease<ServerId>,
      wanted: WantedServer,
      verdict: Verdict,
      { name, waiting }: { readonly name: string | null; readonly waiting: OperationWaiting | null },
    ): Promise<Released> {
      const { operation } = verdict;
      const { rows } = await pool.query<{ again: boolean; counts_in: ClusterId | null }>(
        `WITH leased AS (
           SELECT id, operation_id, node_ready AS was_ready, member_of_id AS was_member,
                  due_at IS DISTINCT FROM lease_until AS again,
                  generation = $4 AND (deregister_requested_at IS NOT NULL) = $5 AS is_current
           FROM adopted_server WHERE ${ours} FOR UPDATE
         ), operated AS (
           UPDATE operation SET ${verdictAssignments(operationParameters)}
           FROM leased
           WHERE is_current AND operation.id = leased.operation_id AND operation.team_id = $1
             AND ${isNewsAbout(operationParameters)}
         )
         UPDATE adopted_server
         SET phase = CASE WHEN is_current THEN $6 ELSE phase END,
             message = CASE WHEN is_current THEN $7 ELSE message END,
             name = coalesce($8, name),
             observed_at = CASE WHEN $8::text IS NULL THEN observed_at ELSE clock_timestamp() END,
             adopted_at = CASE WHEN is_current AND $11 = 'succeeded' THEN clock_timestamp() ELSE adopted_at END,
             failures = $15,
             node_ready = CASE WHEN is_current THEN coalesce($16, node_ready) ELSE node_ready END,
             member_of_id = CASE WHEN is_current AND $17 THEN NULL ELSE member_of_id END,
             node_name = CASE WHEN is_current AND $17 THEN NULL ELSE node_name END,
             updated_at = CASE WHEN is_current AND (phase, message, node_ready)
                                    IS DISTINCT FROM ($6, $7, coalesce($16, node_ready))
                               THEN clock_timestamp() ELSE updated_at END,
             due_at = CASE WHEN again THEN due_at
                           ELSE clock_timestamp() + make_interval(secs => $9::float8 / 1000) END,
             -- Nothing but a read ends this, and a failed server is rebuilt by nobody.
             unread_hold_id = CASE WHEN $11 = 'failed' THEN NULL ELSE unread_hold_id END,
             lease_until = NULL
         FROM leased WHERE adopted_server.id = leased.id
         RETURNING again, CASE WHEN node_ready <> was_ready OR member_of_id IS DISTINCT FROM was_member
                               THEN was_member END AS counts_in`,
        [
          ...leaseValues(lease),
          wanted.generation,
          wanted.deregisterRequestedAt !== null,
          verdict.phase,
          verdict.message,
          name,
          verdict.nextPassMs,
          operation.to !== 'stay',
          ...operationValues(operation),
          verdict.failures,
          verdict.hasLeftCluster ? false : verdict.nodeReady,
          verdict.hasLeftCluster,
          waiting && JSON.stringify(waiting),
        ],
      );
      const [settled] = rows;
      if (settled === undefined) return { kind: 'overtaken' };
      if (settled.counts_in !== null) await requestCount(lease, settled.counts_in);
      return { kind: 'released', again: settled.again };
    },

    /** The server is detached: its row goes with the end of its operation. The number is free again. */
    forget: (lease: PassLease<ServerId>, { serverId, generation }: WantedServer): Promise<boolean> =>
      prisma.$transaction(async (tx) => {
        const where = { ...ourRow(lease), deregisterRequestedAt: { not: null } };
        if ((await tx.adoptedServer.deleteMany({ where })).count === 0) return false;
        const [target, now] = [targetOf(lease), await readClock(tx)];
        await succeedOperations(tx, { ...target, now }, { kind: 'server.deregister', generation });
        await tx.auditEntry.create({
          data: { ...target, ...named(serverId), action: 'server.deregistered', createdAt: now },
        });
        return true;
      }),
  };
};
export type ServerStore = ReturnType<typeof serverStore>;

interface ServerRow extends ServerSpecRow, ServerStateRow, ServerRebuildRow, SealedTokenRow {
  readonly now: Date;
  readonly connectionId: string;
  readonly connectionPhase: ConnectionPhase;
  readonly isAdopting: boolean;
  readonly waiting: OperationWaiting | null;
  readonly poolId: string | null;
  readonly poolName: string | null;
  readonly claiming: NodeCluster | null;
  readonly currentCluster: NodeCluster | null;
  readonly unreadHoldId: string | null;
  readonly unreadReason: Hold['reason'] | null;
  readonly unreadBegunAt: Date | null;
  readonly unreadBackupTakenAt: Date | null;
}

function wantedOf(row: ServerRow): WantedServer {
  const { serverID: serverId, serverKind: kind, serverType, location, architecture } = serverSpecOf(row);
  return {
    ...serverStateOf(row),
    serverId,
    kind,
    serverType,
    location,
    architecture,
    acknowledgedAt: row.acknowledgedAt,
    purpose: row.purpose as RebuildPurpose,
    begunAt: row.begunAt,
    isAdopting: row.isAdopting,
    labelledAt: row.claimedAt,
    imageId: row.image === null ? null : Number(row.image),
    rebuildAskedAt: row.rebuildAskedAt,
    rebuildActionId: row.rebuildActionId,
    failures: row.failures,
    waiting: row.waiting,
    connection: { id: asConnectionId(row.connectionId), phase: row.connectionPhase },
    claim: claimOf(row),
    currentCluster: row.currentCluster,
    unreadHold: unreadHoldOf(row),
  };
}

function unreadHoldOf(row: ServerRow): Hold | null {
  const { unreadHoldId: id, unreadReason: reason, unreadBegunAt: begunAt, unreadBackupTakenAt: backupTakenAt } = row;
  return id === null || reason === null || begunAt === null ? null : { id, reason, begunAt, backupTakenAt };
}

function claimOf({ poolId, poolName, claiming: cluster }: ServerRow): WantedServer['claim'] {
  if (poolId === null || poolName === null || cluster === null) return null;
  return { poolId: asNodePoolId(poolId), poolName, cluster };
}

/** SQL expression of a `NodeCluster`, next to a row of `team`. @param cluster a trusted alias */
const clusterFacts = (cluster: 'claiming' | 'joined'): string => `
  CASE WHEN ${cluster}.id IS NOT NULL THEN json_build_object(
    'id', ${cluster}.id,
    'shoot', CASE WHEN team.project_namespace IS NOT NULL THEN
      json_build_object('namespace', team.project_namespace, 'name', ${cluster}.shoot_name) END,
    'isDeleting', ${cluster}.deletion_requested_at IS NOT NULL,
    'isHibernated', ${isHibernated(cluster)},
    'canTakeNodes', ${cluster}.started_at IS NOT NULL AND ${cluster}.deletion_requested_at IS NULL
      AND ${cluster}.shoot_uid IS NOT NULL AND team.project_namespace IS NOT NULL AND NOT ${isHibernated(cluster)}
      AND ${cluster}.conditions @> '[{"type": "ControlPlaneReady", "status": "True"}]'
      AND EXISTS (SELECT FROM node_pool taking WHERE taking.cluster_id = ${cluster}.id
                  AND taking.team_id = ${cluster}.team_id AND taking.source = 'managed' AND taking.maximum > 0)
  ) END`;

const isHibernated = (cluster: string): string => `coalesce(${cluster}.spec->>'hibernated' = 'true', false)`;
