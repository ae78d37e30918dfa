import {
  type AppliedRow,
  type ConnectionOnGardenRow,
  type ConnectionToken,
  clusterColumns,
  connectionColumns,
  connectionTokenOf,
  type DeclaredRow,
  declaredOf,
  isOpenIn,
  jsonOf,
  type NodePoolRow,
  type ObservedRow,
  type OperationJson,
  operationColumns,
  operationOfJson,
  poolSpecOf,
  poolsOfCluster,
  prismaSelect,
  seenOf,
  selectOf,
  storedSpecOf,
  type TeamProjectRow,
  teamColumns,
} from '@corral/cluster-data';
import {
  asConnectionId,
  asOperationId,
  asTeamId,
  type ClusterId,
  type ConnectionId,
  type ConnectionPhase,
  type OperationWaiting,
} from '@corral/contracts';
import type { PassLease } from '../loop/lease.js';
import type { Database } from '../services.js';
import type { Learned } from './decide/shoot-runs.js';
import type { Desired, DesiredPool, OpenOperation } from './model.js';

/** The version tells a connection's tokens apart. */
interface VersionedToken extends ConnectionToken {
  readonly version: number;
}

interface DesiredRead {
  readonly wanted: Desired;
  readonly now: Date;
  /** The hold in force. */
  readonly hold: { readonly id: string } | null;
}

const { declared, observed, applied } = clusterColumns;

/** What was read, and between which times of this process in milliseconds. */
export interface TimedRead {
  readonly desired: DesiredRead;
  readonly askedAt: number;
  readonly answeredAt: number;
}

export const timedRead = (askedAt: number, desired: DesiredRead | null): TimedRead | null =>
  desired && { desired, askedAt, answeredAt: performance.now() };

/** The row after a write whose outcome was recorded. Only what others changed meanwhile is missing, which the next pass sees. */
export function afterwards({ desired, ...times }: TimedRead, wanted: Desired, learned: Learned): TimedRead {
  const answeredAt = performance.now();
  const now = new Date(desired.now.getTime() + answeredAt - times.answeredAt);
  const known = { ...wanted.known, ...learned };
  return { desired: { ...desired, wanted: { ...wanted, known }, now }, askedAt: times.askedAt, answeredAt };
}

const readOfLease = `
   SELECT ${selectOf('cluster', { ...declared, ...observed, ...applied })}, clock_timestamp() AS now,
          cluster.team_id AS "teamId", ${selectOf('team', teamColumns.project)},
          connection.id AS "connectionId", connection.ref AS "connectionRef",
          connection.phase AS "connectionPhase", ${selectOf('connection', connectionColumns.onGarden)},
          coalesce(connection.project->>'readOnly' = 'true', false) AS "connectionReadOnly",
          ${poolsOfCluster} AS pools,
          (SELECT id FROM installation_hold WHERE ended_at IS NULL) AS "holdId",
          (SELECT max(o.created_at) FROM operation o
           WHERE o.target_id = cluster.id AND o.team_id = cluster.team_id
             AND o.generation = cluster.generation) AS "declaredAt",
          (SELECT max(o.created_at) FROM operation o
           WHERE o.target_id = cluster.id AND o.team_id = cluster.team_id
             AND o.kind IN ('cluster.create', 'cluster.update')) AS "poolsDeclaredAt",
          (SELECT o.id FROM operation o
           WHERE o.target_id = cluster.id AND o.team_id = cluster.team_id AND o.generation = cluster.generation
             AND o.state = 'failed' LIMIT 1) AS "failedOperationId",
          (SELECT ${jsonOf('o', operationColumns)}
           FROM operation o
           WHERE o.target_id = cluster.id AND o.team_id = cluster.team_id AND ${isOpenIn('o')}
           ORDER BY o.generation DESC LIMIT 1) AS operation
   FROM cluster
   JOIN team ON team.id = cluster.team_id
   JOIN connection ON connection.id = cluster.connection_id AND connection.team_id = cluster.team_id
   WHERE cluster.id = $1 AND cluster.lease_until IS NOT NULL
     AND cluster.team_id = $2 AND cluster.lease_fence = $3`;

/** What a pass reads. Every query is bound to the lease, and therefore to the team. */
export const desiredStore = ({ pool, prisma }: Database) => ({
  /**
   * @returns with the database's clock, which all decisions use. Null when a later lease was granted and the pass must stop
   */
  async readDesired({ teamId, id, fence }: PassLease<ClusterId>): Promise<DesiredRead | null> {
    const { rows } = await pool.query<DesiredRow>({
      name: 'desired-cluster',
      text: readOfLease,
      values: [id, teamId, fence],
    });
    return rows[0] === undefined ? null : readOf(rows[0]);
  },

  /** The newest token of a connection of the team; null when the connection is gone. */
  async readToken({ teamId }: PassLease<ClusterId>, connectionId: ConnectionId): Promise<VersionedToken | null> {
    const row = await prisma.connection.findFirst({
      where: { teamId, id: connectionId },
      select: { ...prismaSelect(connectionColumns.token), tokenVersion: true },
    });
    return row && { ...connectionTokenOf({ ...row, connectionId }), version: row.tokenVersion };
  },
});
export type DesiredStore = ReturnType<typeof desiredStore>;

interface DesiredRow extends DeclaredRow, ObservedRow, AppliedRow, TeamProjectRow, ConnectionOnGardenRow {
  readonly now: Date;
  readonly teamId: string;
  readonly connectionId: string;
  readonly connectionRef: string;
  readonly connectionPhase: ConnectionPhase;
  readonly connectionReadOnly: boolean;
  readonly pools: readonly NodePoolRow[];
  readonly declaredAt: Date | null;
  readonly poolsDeclaredAt: Date | null;
  readonly failedOperationId: string | null;
  readonly operation: OperationJson | null;
  readonly holdId: string | null;
}

function readOf(row: DesiredRow): DesiredRead {
  return { wanted: desiredOf(row), now: row.now, hold: row.holdId === null ? null : { id: row.holdId } };
}

function desiredOf(row: DesiredRow): Desired {
  return {
    ...declaredOf(row),
    team: { id: asTeamId(row.teamId), slug: row.slug, projectName: row.projectName },
    namespace: row.projectNamespace,
    shootName: row.shootName,
    declaredAt: row.declaredAt,
    poolsDeclaredAt: row.poolsDeclaredAt,
    spec: storedSpecOf(row),
    pools: row.pools.map(poolOf),
    isDeleting: row.deletionRequestedAt !== null,
    connection: {
      id: asConnectionId(row.connectionId),
      ref: row.connectionRef,
      gardenName: row.gardenName,
      phase: row.connectionPhase,
      isReadOnly: row.connectionReadOnly,
      tokenVersion: row.tokenVersion,
      gardenTokenVersion: row.gardenTokenVersion,
    },
    known: knownOf(row),
    operation: row.operation && openOperationOf(row.operation),
    failedOperationId: row.failedOperationId === null ? null : asOperationId(row.failedOperationId),
  };
}

const poolOf = (row: NodePoolRow): DesiredPool => ({
  ...poolSpecOf(row),
  workerName: row.workerName,
  autoscalerPriority: row.autoscalerPriority,
});

const knownOf = (row: DesiredRow): Desired['known'] => ({
  ...seenOf(row),
  shootUid: row.shootUid,
  appliedGeneration: row.appliedGeneration,
  appliedShootGeneration: row.appliedShootGeneration,
  appliedAt: row.appliedAt,
  appliedTokenVersion: row.appliedTokenVersion,
  retriedGeneration: row.retriedGeneration,
  keptGeneration: row.keptGeneration,
  failures: row.failures,
  waiting: row.waiting as OperationWaiting | null,
});

function openOperationOf(json: OperationJson): OpenOperation {
  const { id, kind, generation, state, progress, createdAt } = operationOfJson(json);
  return { id, kind, generation, state: state as OpenOperation['state'], progress, acceptedAt: createdAt };
}
