import { randomUUID } from 'node:crypto';
import {
  clusterColumns,
  type DeclaredRow,
  isOpenIn,
  type NodePoolRow,
  poolSpecOf,
  poolsOfCluster,
  selectOf,
  specHashOf,
  storedSpecOf,
} from '@corral/cluster-data';
import { type ClusterId, type HibernationSchedule, sleepsAt } from '@corral/contracts';
import type { Log } from '@corral/service';
import type { Database } from '../services.js';

/** A cluster with a schedule. */
interface Scheduled {
  readonly id: ClusterId;
  readonly generation: number;
  readonly schedule: HibernationSchedule;
  readonly hibernated: boolean;
  /** Whether its schedule had it asleep at the last look. */
  readonly wasAsleep: boolean;
}

interface FollowDeps {
  readonly store: ScheduleStore;
  readonly wake: (ids: readonly ClusterId[]) => Promise<void>;
  /** The clock of the database, as for declarations: by clocks that differ a cluster would change back at a time of its schedule. */
  readonly now: () => Promise<Date>;
  readonly log: Log;
}

/**
 * Hibernates and resumes clusters at the times of their schedules, as a change of the declaration that the service makes: with an
 * operation and an audit entry without a person. Only a time of the schedule does so, so what people declare in between holds until the
 * next one. A time that passed while nobody looked is followed late. A schedule that cannot be followed delays no other one.
 */
export function followSchedules({ store, wake, now, log }: FollowDeps) {
  /** Declarations that were logged as failed: the next look is in seconds. */
  const failed = new Set<string>();
  const follow = async (cluster: Scheduled, at: Date): Promise<boolean> => {
    const sleeps = sleepsAt(cluster.schedule, at);
    if (sleeps === cluster.wasAsleep) return false;
    if (cluster.hibernated === sleeps) await store.note(cluster, sleeps);
    else if (await store.setHibernated(cluster, sleeps)) {
      log.info('schedule followed', { clusterId: cluster.id, hibernated: sleeps });
      return true;
    }
    return false;
  };
  return async (signal: AbortSignal): Promise<number> => {
    const changed: ClusterId[] = [];
    const [clusters, at] = [await store.findScheduled(), await now()];
    for (const cluster of clusters) {
      if (signal.aborted) break;
      try {
        if (await follow(cluster, at)) changed.push(cluster.id);
      } catch (error) {
        const declaration = `${cluster.id} ${cluster.generation}`;
        if (!failed.has(declaration)) log.error('schedule not followed', { clusterId: cluster.id, error });
        failed.add(declaration);
      }
    }
    await wake(changed);
    return changed.length;
  };
}

/** Every change names the generation that it was decided on: one that a team declared meanwhile comes first. */
export const scheduleStore = ({ pool, prisma }: Database) => ({
  /** Started clusters of teams that may change something. After a restore, those that wait for their team are left alone. */
  async findScheduled(): Promise<Scheduled[]> {
    const { rows } = await pool.query<Scheduled>(`
      SELECT cluster.id, generation, spec->'hibernationSchedule' AS schedule, (spec->>'hibernated')::boolean AS hibernated,
             asleep_by_schedule AS "wasAsleep"
      FROM cluster JOIN team ON team.id = cluster.team_id
      WHERE asleep_by_schedule IS NOT NULL AND spec ? 'hibernationSchedule' AND started_at IS NOT NULL AND deletion_requested_at IS NULL
        AND kept_generation IS DISTINCT FROM generation AND team.suspended_at IS NULL AND team.deleted_at IS NULL
      ORDER BY cluster.id`);
    return rows;
  },

  /** The cluster is already as the schedule has it. */
  async note({ id, generation }: Scheduled, asleepBySchedule: boolean): Promise<void> {
    await prisma.cluster.updateMany({ where: { id, generation }, data: { asleepBySchedule } });
  },

  /** @returns false when the declaration has changed meanwhile: nothing was written */
  async setHibernated({ id, generation, hibernated: from }: Scheduled, hibernated: boolean): Promise<boolean> {
    const { rows } = await pool.query<DeclaredRow & { readonly pools: readonly NodePoolRow[] }>(
      `SELECT ${selectOf('cluster', clusterColumns.declared)}, ${poolsOfCluster} AS pools FROM cluster
       WHERE id = $1 AND generation = $2`,
      [id, generation],
    );
    const [row] = rows;
    if (row === undefined) return false;
    const operationId = randomUUID();
    const desiredHash = specHashOf({ ...storedSpecOf(row), nodePools: row.pools.map(poolSpecOf), hibernated });
    const [kind, phase] = hibernated ? ['cluster.hibernate', 'Hibernating'] : ['cluster.resume', 'Resuming'];
    const changes = [{ pointer: '/spec/hibernated', from, to: hibernated }];
    const detail = { schedule: true, operationId, generation: generation + 1 };
    const { rowCount } = await pool.query(
      `WITH changed AS (
         UPDATE cluster
         SET spec = jsonb_set(spec, '{hibernated}', to_jsonb($3::boolean)), asleep_by_schedule = $3::boolean, desired_hash = $4::text,
             generation = generation + 1, revision = revision + 1, due_at = clock_timestamp(), updated_at = clock_timestamp(),
             phase = CASE WHEN observed_generation = 0 THEN phase ELSE $5::text END
         WHERE id = $1 AND generation = $2 AND deletion_requested_at IS NULL
         RETURNING id, team_id, name, generation
       ), superseded AS (
         UPDATE operation SET state = 'superseded', updated_at = clock_timestamp(), finished_at = clock_timestamp()
         FROM changed WHERE operation.team_id = changed.team_id AND target_id = changed.id AND ${isOpenIn('operation')}
       ), noted AS (
         INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, detail, changes)
         SELECT team_id, $6::text, 'Cluster', id, name, $8::jsonb, $9::jsonb FROM changed
       )
       INSERT INTO operation (id, team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
       SELECT $7::uuid, team_id, $6::text, 'Cluster', id, name, generation, 'queued'::operation_state, $4::text FROM changed`,
      [
        id,
        generation,
        hibernated,
        desiredHash,
        phase,
        kind,
        operationId,
        JSON.stringify(detail),
        JSON.stringify(changes),
      ],
    );
    return rowCount === 1;
  },
});
type ScheduleStore = ReturnType<typeof scheduleStore>;
