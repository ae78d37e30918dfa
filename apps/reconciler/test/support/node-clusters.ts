import type { TestCluster } from './cluster-rows.js';
import type { FakeShoot } from './fake-shoots.js';
import type { Servers } from './start-servers.js';

export interface NodeTestCluster extends TestCluster {
  readonly shootName: string;
  readonly shoot: FakeShoot;
  /** Pool of adopted servers. */
  readonly poolId: string;
}

const ready = JSON.stringify([{ type: 'ControlPlaneReady', status: 'True', reason: 'ControlPlaneHealthy' }]);

/** A running cluster with a managed pool and a pool of adopted servers. */
export async function addNodeCluster({ pool, ...at }: Servers, team = at.team): Promise<NodeTestCluster> {
  const connectionId = team === at.team ? at.connectionId : await at.addConnection(team);
  const cluster = await at.declare(team, connectionId);
  const { rows: clusters } = await pool.query<{ shoot_name: string }>(
    `UPDATE cluster SET started_at = now(), shoot_uid = 'u', phase = 'Ready', conditions = $2 WHERE id = $1
     RETURNING shoot_name`,
    [cluster.id, ready],
  );
  await pool.query("UPDATE team SET project_namespace = 'garden-' || slug WHERE id = $1", [team.id]);
  const { rows: pools } = await pool.query<{ id: string }>(
    `INSERT INTO node_pool (team_id, cluster_id, name, position, source, machine_type, image, minimum, maximum, public_ip)
     VALUES ($1, $2, 'metal', 1, 'pooled', 'cx22', '{}', 0, 1, true) RETURNING id`,
    [team.id, cluster.id],
  );
  const shootName = clusters[0]?.shoot_name as string;
  return { ...cluster, shootName, shoot: at.shoots.add(shootName), poolId: pools[0]?.id as string };
}

/** Claims as the API does when a change of a pool is accepted. */
export async function claim({ pool }: Servers, id: string, poolId: string | null): Promise<void> {
  await pool.query('UPDATE adopted_server SET node_pool_id = $2, due_at = clock_timestamp() WHERE id = $1', [
    id,
    poolId,
  ]);
}

/** Hibernates or resumes a cluster, for the API and in the fake Shoot. */
export async function hibernate(
  { pool }: Servers,
  { id, shoot }: NodeTestCluster,
  isHibernated: boolean,
): Promise<void> {
  await pool.query(`UPDATE cluster SET spec = spec || jsonb_build_object('hibernated', $2::boolean) WHERE id = $1`, [
    id,
    isHibernated,
  ]);
  shoot.isUp = !isHibernated;
}
