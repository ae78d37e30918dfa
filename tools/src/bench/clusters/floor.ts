import type { Pool } from '@corral/database';
import pg from 'pg';

/** What a change of a cluster cannot do without: one transaction of the same rows. */
export interface Floor {
  write(maximum: number): Promise<void>;
  close(): Promise<void>;
}

interface Subject {
  readonly teamId: string;
  readonly clusterId: string;
}

/** On a connection of its own, with prepared statements, for a cluster that is changed by nobody else. */
export async function changeFloor(pool: Pool, databaseUrl: string, team: string, cluster: string): Promise<Floor> {
  const { rows } = await pool.query<Subject>(
    `SELECT team.id AS "teamId", cluster.id AS "clusterId" FROM team JOIN cluster ON cluster.team_id = team.id
     WHERE team.slug = $1 AND cluster.name = $2`,
    [team, cluster],
  );
  const { teamId, clusterId } = rows[0] as Subject;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return {
    async write(maximum) {
      await client.query('BEGIN');
      await client.query({ name: 'lock', text: lock, values: [teamId] });
      await client.query({ name: 'declaration', text: declaration, values: [clusterId, maximum] });
      await client.query({ name: 'operation', text: operation, values: [teamId, clusterId] });
      await client.query('COMMIT');
    },
    close: () => client.end(),
  };
}

const lock = 'UPDATE team_change_lock SET changed_at = clock_timestamp() WHERE team_id = $1';

const declaration = `
  WITH written AS (
    UPDATE cluster SET spec = spec, conditions = conditions, desired_hash = $2::text, generation = generation + 1,
                       revision = revision + 1, due_at = now(), updated_at = now()
    WHERE id = $1 RETURNING id
  )
  UPDATE node_pool SET maximum = $2::int, updated_at = now() FROM written WHERE cluster_id = written.id`;

const operation = `
  WITH superseded AS (
    UPDATE operation SET state = 'superseded', updated_at = now(), finished_at = now()
    WHERE target_id = $2 AND state IN ('queued', 'running')
  ), noted AS (
    INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, detail)
    VALUES ($1, 'cluster.declare', 'Cluster', $2, 'floor', '{}')
  )
  INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
  SELECT $1, 'cluster.update', 'Cluster', $2, 'floor', generation + 1, 'queued', desired_hash FROM cluster WHERE id = $2`;
