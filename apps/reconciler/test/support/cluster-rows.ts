import { randomBytes, randomUUID } from 'node:crypto';
import type { ClusterId, Condition, ConnectionId, OperationId, OperationWaiting, TeamId } from '@corral/contracts';
import { connectPool, connectPrisma, inTransaction, type Pool, type Queryable, rowClock } from '@corral/database';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';

export interface TestTeam {
  readonly id: TeamId;
  readonly slug: string;
}

export interface TestCluster {
  readonly id: ClusterId;
  readonly team: TestTeam;
  readonly operationId: OperationId;
}

export interface TestPool {
  readonly name: string;
  readonly machineType?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly image?: Readonly<Record<string, unknown>>;
  readonly publicIP?: boolean;
}

export interface Declared {
  readonly name?: string;
  readonly pools?: readonly TestPool[];
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface Changed {
  readonly kind?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly pools?: readonly TestPool[];
}

export interface ClusterRow {
  id: ClusterId;
  name: string;
  shoot_name: string;
  generation: number;
  observed_generation: number;
  applied_generation: number;
  phase: string;
  conditions: Condition[];
  observed: unknown;
  node_counts: unknown;
  nodes_due_at: Date | null;
  revision: number;
  shoot_uid: string | null;
  pinned_version: string | null;
  started_at: Date | null;
  due_at: Date | null;
  lease_until: Date | null;
  lease_fence: number;
  failures: number;
  waiting: OperationWaiting | null;
  observed_hash: string | null;
  updated_at: Date;
  is_due: boolean;
  due_in_ms: number | null;
}

export interface OperationRow {
  id: OperationId;
  kind: string;
  generation: number;
  state: string;
  progress: number;
  error: Record<string, unknown>;
  waiting: OperationWaiting | null;
  finished_at: Date | null;
}

const aSpec = {
  connectionRef: 'main',
  region: 'fsn1',
  kubernetesVersion: '1.33',
  hibernated: false,
  controlPlaneHA: false,
  plan: 'payg',
  network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
};

const aPool: TestPool = { name: 'general' };

/** A database in which clusters are declared like in the cluster API: in one transaction each, due immediately. */
export async function openClusterRows() {
  const database = await createTestDatabase();
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'cluster test',
    connectionsMax: 20,
    ...patientPool,
    onIdleError: () => undefined,
  });
  const prisma = connectPrisma(pool, patientTransactions);
  return {
    url: database.url,
    prisma,
    ...clusterRows(pool),
    async close() {
      await prisma.$disconnect();
      await pool.end();
      await database.drop();
    },
  };
}

export type ClusterRows = Awaited<ReturnType<typeof openClusterRows>>;

/** The same in a database that the caller has. */
export function clusterRows(pool: Pool) {
  const one = <T>(sql: string, values: unknown[]): Promise<T> => rowOf<T>(pool, sql, values);
  return {
    pool,
    async addTeam(slug = `t-${randomBytes(4).toString('hex')}`): Promise<TestTeam> {
      const { id } = await one<{ id: TeamId }>('INSERT INTO team (slug) VALUES ($1) RETURNING id', [slug]);
      return { id, slug };
    },
    async addConnection(team: TestTeam, ref = 'main') {
      const { id } = await one<{ id: ConnectionId }>(
        `INSERT INTO connection (team_id, ref, name, provider, provider_config, sealed_token, token_key_id, phase)
         VALUES ($1, $2, $2, 'hcloud', '{}', $3, 'k1', 'Ready') RETURNING id`,
        [team.id, ref, randomBytes(40)],
      );
      return id;
    },
    async declare(
      team: TestTeam,
      connectionId: ConnectionId,
      { name = `c-${randomBytes(4).toString('hex')}`, pools = [aPool], spec = {} }: Declared = {},
    ): Promise<TestCluster> {
      const isDraft = pools.length === 0;
      return inTransaction(pool, async (tx) => {
        const { id } = await rowOf<{ id: ClusterId }>(
          tx,
          `INSERT INTO cluster (team_id, name, connection_id, spec, desired_hash, phase, due_at)
           VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7 THEN NULL ELSE clock_timestamp() END) RETURNING id`,
          [
            team.id,
            name,
            connectionId,
            JSON.stringify({ ...aSpec, ...spec }),
            `sha256:${randomUUID()}`,
            isDraft ? 'Draft' : 'Pending',
            isDraft,
          ],
        );
        await insertPools(tx, team, id, pools);
        const operation = await insertOperation(tx, { team, target: id, name, kind: 'cluster.create', generation: 1 });
        return { id, team, operationId: operation.id };
      });
    },
    /** Accepts a change: the generation grows, the open operation is superseded, the cluster is due. */
    change: (cluster: TestCluster, changed: Changed = {}) => inTransaction(pool, (tx) => accept(tx, cluster, changed)),
    requestDeletion: (cluster: TestCluster) =>
      inTransaction(pool, async (tx) => {
        await tx.query('UPDATE cluster SET deletion_requested_at = clock_timestamp() WHERE id = $1', [cluster.id]);
        return (await accept(tx, cluster, { kind: 'cluster.delete' })).operationId;
      }),
    row: (clusterId: string) =>
      one<ClusterRow>(
        `SELECT *, coalesce(due_at <= ${rowClock}, false) AS is_due,
                (extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS due_in_ms
         FROM cluster WHERE id = $1`,
        [clusterId],
      ),
    /** Namespace and name of the cluster's Shoot. */
    async placeOf({ id }: TestCluster): Promise<[namespace: string, name: string]> {
      const { project_namespace, shoot_name } = await one<{ project_namespace: string; shoot_name: string }>(
        `SELECT project_namespace, shoot_name FROM cluster JOIN team ON team.id = cluster.team_id WHERE cluster.id = $1`,
        [id],
      );
      return [project_namespace, shoot_name];
    },
    operation: (id: string) => one<OperationRow>('SELECT * FROM operation WHERE id = $1', [id]),
    async operationsOf(clusterId: string) {
      const { rows } = await pool.query('SELECT * FROM operation WHERE target_id = $1 ORDER BY generation', [
        clusterId,
      ]);
      return rows as OperationRow[];
    },
    /** Lets time pass for one row: moves its future times `ms` closer. */
    async pass(clusterId: string, ms: number) {
      await pool.query(
        `UPDATE cluster SET due_at = due_at - make_interval(secs => $2::float8 / 1000),
                            lease_until = lease_until - make_interval(secs => $2::float8 / 1000) WHERE id = $1`,
        [clusterId, ms],
      );
    },
  };
}

const rowOf = async <T>(on: Queryable, sql: string, values: unknown[]): Promise<T> =>
  (await on.query(sql, values)).rows[0] as T;

async function insertPools(
  tx: Queryable,
  team: TestTeam,
  clusterId: string,
  pools: readonly TestPool[],
): Promise<void> {
  for (const [position, declared] of pools.entries()) {
    const { name, machineType = 'cpx31', minimum = 1, maximum = 3, image = {}, publicIP = true } = declared;
    await tx.query(
      `INSERT INTO node_pool (team_id, cluster_id, name, position, source, machine_type, image, minimum, maximum, public_ip)
       VALUES ($1, $2, $3, $4, 'managed', $5, $8, $6, $7, $9)
       ON CONFLICT (cluster_id, name) DO UPDATE SET machine_type = excluded.machine_type, minimum = excluded.minimum,
         maximum = excluded.maximum, position = excluded.position`,
      [team.id, clusterId, name, position, machineType, minimum, maximum, JSON.stringify(image), publicIP],
    );
  }
}

interface NewOperation {
  readonly team: TestTeam;
  readonly target: string;
  readonly name: string;
  readonly kind: string;
  readonly generation: number;
}

const insertOperation = (tx: Queryable, { team, target, name, kind, generation }: NewOperation) =>
  rowOf<{ id: OperationId }>(
    tx,
    `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
     VALUES ($1, $2, 'Cluster', $3, $4, $5, 'queued', $6) RETURNING id`,
    [team.id, kind, target, name, generation, `sha256:${randomBytes(32).toString('hex')}`],
  );

async function accept(
  tx: Queryable,
  { id, team }: TestCluster,
  { kind = 'cluster.update', spec = {}, pools }: Changed,
): Promise<{ generation: number; operationId: OperationId }> {
  const { generation, name } = await rowOf<{ generation: number; name: string }>(
    tx,
    `UPDATE cluster SET generation = generation + 1, spec = spec || $2::jsonb, due_at = clock_timestamp() - interval '1 s'
     WHERE id = $1 RETURNING generation, name`,
    [id, JSON.stringify(spec)],
  );
  await tx.query(
    `UPDATE operation SET state = 'superseded', finished_at = now() WHERE target_id = $1 AND state IN ('queued', 'running')`,
    [id],
  );
  if (pools !== undefined) {
    const names = pools.map((pool) => pool.name);
    await tx.query('DELETE FROM node_pool WHERE cluster_id = $1 AND name <> ALL ($2)', [id, names]);
    await insertPools(tx, team, id, pools);
  }
  const operation = await insertOperation(tx, { team, target: id, name, kind, generation });
  return { generation, operationId: operation.id };
}
