import type { ClusterSpec, Condition } from '@corral/contracts';
import { expect } from '@jest/globals';
import { aClusterSpec } from './a-cluster.js';
import { startClusterApi, type TestClusterApi, type TestOptions, type TestTeam } from './start-cluster-api.js';

/** Adds a verified connection to the team. */
export async function addConnection(
  { db }: TestClusterApi,
  { id: teamId }: TestTeam,
  { ref = 'main', phase = 'Ready' as 'Ready' | 'Unverified' | 'Rejected' } = {},
): Promise<void> {
  const sealed = { sealedToken: Buffer.from('sealed'), tokenKeyId: 'test', phase };
  await db.connection.create({ data: { teamId, ref, name: ref, provider: 'hcloud', providerConfig: {}, ...sealed } });
}

/** The API for tests of clusters: `acme` has a verified connection, and its quota leaves room for the cluster of each test. */
export async function startWithConnection(options: TestOptions = {}) {
  const t = await startClusterApi(options);
  await t.db.team.update({ where: { id: t.acme.id }, data: { clustersMax: 1_000 } });
  await addConnection(t, t.acme);
  return Object.assign(t, { clusters: clustersOf(t, t.acme) });
}
export type ClusterTest = Awaited<ReturnType<typeof startWithConnection>>;

/** The functions below, for the clusters of one team. */
const clustersOf = (t: TestClusterApi, team: TestTeam) => ({
  declare: (name: string, spec?: Partial<ClusterSpec>) => declare(team, name, spec),
  declareDraft: (name: string) => declareDraft(team, name),
  running: (name: string, spec?: Partial<ClusterSpec>) => runningCluster(t, team, name, spec),
  beginFirstPass: (name: string) => beginFirstPass(t, team, name),
  converge: (name: string) => converge(t, team, name),
  showConditions: (name: string, statuses: Record<string, Condition['status']>, reason?: string) =>
    showConditions(t, team, name, statuses, reason),
  endOperations: (name: string, state: 'succeeded' | 'failed') => endOperations(t, team, name, state),
  operationsOf: (name: string) => operationsOf(t, team, name),
  everything: () => everythingOf(t, team),
});

/** Prepares a test that needs its own cluster: forgets earlier wake-ups. @returns a name that no earlier test used */
export function freshName({ wakeups }: Pick<TestClusterApi, 'wakeups'>): string {
  wakeups.length = 0;
  names += 1;
  return `web-${names}`;
}
let names = 0;

/** Declares a cluster over the API and asserts that it is accepted. @returns the body of the answer */
export async function declare(team: TestTeam, name: string, spec: Partial<ClusterSpec> = {}) {
  const answer = await team.asMember.put(`/clusters/${name}/`).send({ spec: aClusterSpec(spec) });
  expect([answer.status, answer.body.detail]).toEqual([202, undefined]);
  return answer.body;
}

export const declareDraft = (team: TestTeam, name: string) => declare(team, name, { nodePools: [] });

/** Writes what the first pass writes. From then on the cluster is not a draft. */
export async function beginFirstPass({ pool }: TestClusterApi, team: TestTeam, name: string): Promise<void> {
  await pool.query(
    `UPDATE cluster SET started_at = clock_timestamp(), lease_fence = lease_fence + 1, pinned_version = spec->>'kubernetesVersion'
     WHERE team_id = $1 AND name = $2`,
    [team.id, name],
  );
}

/** Writes what the pass writes that finds the cluster as declared. */
export async function converge(t: TestClusterApi, team: TestTeam, name: string): Promise<void> {
  await beginFirstPass(t, team, name);
  await t.pool.query('UPDATE team SET project_namespace = $2 WHERE id = $1', [team.id, `garden-${team.slug}`]);
  await showConditions(t, team, name, { ControlPlaneReady: 'True', Reconciled: 'True' });
  await t.pool.query(
    `UPDATE cluster SET phase = 'Ready', observed_generation = generation, due_at = NULL WHERE team_id = $1 AND name = $2`,
    [team.id, name],
  );
  await endOperations(t, team, name, 'succeeded');
}

export async function showConditions(
  { pool }: TestClusterApi,
  team: TestTeam,
  name: string,
  statuses: Record<string, Condition['status']>,
  reason = 'Observed',
): Promise<void> {
  const conditions = Object.entries(statuses).map(([type, status]) => ({
    type,
    status,
    reason,
    message: '',
    lastTransitionTime: '2026-11-21T00:00:00.000Z',
  }));
  await pool.query('UPDATE cluster SET conditions = $3, revision = revision + 1 WHERE team_id = $1 AND name = $2', [
    team.id,
    name,
    JSON.stringify(conditions),
  ]);
}

/** Ends the open operations of a cluster as a pass does. */
export async function endOperations(
  { pool }: TestClusterApi,
  team: TestTeam,
  name: string,
  state: 'succeeded' | 'failed',
): Promise<void> {
  const error = {
    code: 'provider_capacity',
    message: 'Sold out.',
    retryable: true,
    hint: 'Take another machine type.',
  };
  await pool.query(
    `UPDATE operation SET state = $3::operation_state, progress = CASE WHEN $3 = 'succeeded' THEN 100 ELSE progress END,
            error = $4, finished_at = clock_timestamp()
     WHERE team_id = $1 AND target_name = $2 AND state IN ('queued', 'running')`,
    [team.id, name, state, state === 'failed' ? JSON.stringify(error) : '{}'],
  );
}

/** Declares a cluster and brings it to the state of a finished pass. */
export async function runningCluster(t: TestClusterApi, team: TestTeam, name: string, spec: Partial<ClusterSpec> = {}) {
  await declare(team, name, spec);
  await converge(t, team, name);
}

/** All rows that a request could write about a team's clusters, for comparisons. */
export async function everythingOf({ pool }: TestClusterApi, team: TestTeam) {
  const read = async (text: string) => (await pool.query(text, [team.id])).rows;
  return {
    clusters: await read('SELECT * FROM cluster WHERE team_id = $1 ORDER BY name'),
    pools: await read('SELECT * FROM node_pool WHERE team_id = $1 ORDER BY cluster_id, name'),
    operations: await read('SELECT * FROM operation WHERE team_id = $1 ORDER BY id'),
    servers: await read('SELECT * FROM adopted_server WHERE team_id = $1 ORDER BY id'),
    audit: await read('SELECT * FROM audit_entry WHERE team_id = $1 ORDER BY id'),
    keys: await read('SELECT * FROM idempotency_key WHERE team_id = $1 ORDER BY key'),
  };
}

/** Kind and state of the operations on a target, oldest first. */
export async function operationsOf({ db }: TestClusterApi, team: TestTeam, targetName: string): Promise<string[]> {
  const operations = await db.operation.findMany({
    where: { teamId: team.id, targetName },
    orderBy: [{ createdAt: 'asc' }, { generation: 'asc' }],
  });
  return operations.map(({ kind, state }) => `${kind} ${state}`);
}
