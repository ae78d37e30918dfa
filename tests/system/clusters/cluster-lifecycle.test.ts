import type { Cluster, Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationIdOf, type TeamClient } from '../../support/clusters/client.js';
import {
  aCluster,
  aPool,
  change,
  codeOf,
  conditionOf,
  expectAsDeclared,
  findShoot,
  getCluster,
  getShoot,
  untilCluster,
  untilPhase,
} from '../../support/clusters/journey.js';
import { nodesOf } from '../../support/clusters/nodes-of.js';
import { readRowChanges, recordRowChanges } from '../../support/clusters/row-history.js';
import { type ClusterSystem, startClusterSystem } from '../../support/clusters/start-cluster-system.js';
import { findBrokenRules } from '../../support/crashes/row-judge.js';

let system: ClusterSystem;
let acme: TeamClient;

beforeAll(async () => {
  system = await startClusterSystem({ teams: ['acme', 'globex'] });
  await recordRowChanges(system.pool);
  acme = (system.teams[0] as ClusterSystem['teams'][number]).member;
});
/** Every existing row obeys the rules for rows, at every moment. */
afterEach(async () => {
  expect(findBrokenRules(await readRowChanges(system.pool))).toEqual([]);
});
afterAll(async () => {
  await system?.stop();
});

/** The phases of a cluster in order, with repetitions. */
async function phasesOf(id: string): Promise<string[]> {
  const rows = (await readRowChanges(system.pool)).filter(({ table, row }) => table === 'cluster' && row.id === id);
  const phases = rows.map(({ row }) => row.phase as string);
  return phases.filter((phase, at) => phase !== phases[at - 1]);
}

describe('a cluster, from its declaration to its deletion', () => {
  const done = { state: 'succeeded', progress: 100, error: {} };

  it('is a draft, created, used, hibernated, given pools, upgraded, deleted, and created again', async () => {
    const id = await declareDraft();
    await giveFirstPool(id);
    await expectRisingProgress(id);
    await learnPrices();
    await enter();
    await declareTheSame();
    await hibernateAndResume();
    await changePools();
    await upgrade();
    await removeAndDeclareAnew(id);
  });

  /** The cluster is a draft until it has a pool, and does not exist on the garden. @returns its ID */
  async function declareDraft(): Promise<string> {
    const declared = await acme.insist({
      method: 'PUT',
      path: '/clusters/web/',
      body: aCluster(system, { nodePools: [] }),
    });

    expect(declared.status).toBe(202);
    expect(declared.json.operation).toMatchObject({ ...done, kind: 'cluster.create' });
    const draft = await getCluster(acme, 'web');
    expect(draft.status.phase).toBe('Draft');
    expect(conditionOf(draft, 'Reconciled')).toMatchObject({ status: 'False', reason: 'AwaitingNodePools' });
    expect(await findShoot(system, draft)).toBeNull();
    return draft.metadata.id;
  }

  /** The cluster is created. */
  async function giveFirstPool(id: string): Promise<void> {
    // Without the pause in the middle, a busy reconciler would see only the beginning and the end.
    await system.garden.addShootFaults({ operations: ['Create'], effect: { stuck: true } });
    const put = await acme.insist({
      method: 'PUT',
      path: '/clusters/web/node-pools/general/',
      body: { spec: aPool() },
    });
    expect(put.status).toBe(201);
    await waitFor('some progress', async () => {
      const { json } = await acme.insist({ method: 'GET', path: `/operations/${operationIdOf(put)}/` });
      return json.progress > 0;
    });
    await system.garden.clearShootFaults();
    const own = ['SpecAccepted', 'ConnectionReady', 'ControlPlaneReady', 'NodesReady', 'Reconciled'];

    const isWell = ({ status }: Cluster): boolean =>
      own.every((type) => conditionOf({ status }, type)?.status === 'True');
    const ready = await untilCluster(acme, 'web', 'well', isWell);

    const phases = await phasesOf(id);
    expect(phases[0]).toBe('Draft');
    expect(phases.slice(-2)).toEqual(['Provisioning', 'Ready']);
    expect(ready.status.phase).toBe('Ready');
    expect(ready.status.seedName).not.toBeNull();
    await expectAsDeclared(system, acme, 'web');
  }

  async function expectRisingProgress(id: string): Promise<void> {
    const progress = (await readRowChanges(system.pool))
      .filter(({ table, row }) => table === 'operation' && row.target_id === id && row.generation === 2)
      .map(({ row }) => row.progress as number);

    expect(progress).toEqual([...progress].sort((one, other) => one - other));
    expect(progress[0]).toBe(0);
    expect(new Set(progress).size).toBeGreaterThan(2);
    expect(progress.at(-1)).toBe(100);
  }

  /** The prices of the project are read without anyone asking for it. */
  async function learnPrices(): Promise<void> {
    const priced = await untilCluster(acme, 'web', 'priced', ({ status }) => status.cost.monthly.minimum !== null);

    expect(priced.status.cost).toMatchObject({
      currency: 'EUR',
      monthly: { minimum: expect.stringMatching(/^\d+\.\d+$/) },
    });
  }

  /** A kubeconfig gives access, and is not stored. */
  async function enter(): Promise<void> {
    const issued = await acme.insist({ method: 'POST', path: '/clusters/web/kubeconfig/', body: { ttlSeconds: 600 } });

    expect(issued.status).toBe(200);
    expect(Date.parse(issued.json.expiresAt) - Date.now()).toBeLessThanOrEqual(600_000);
    const nodes = await nodesOf(issued.json.kubeconfig);
    expect(nodes).toHaveLength(1);
    const secret = /client-key-data: *"?([\w+/=]{40})/.exec(issued.json.kubeconfig)?.[1] as string;
    expect(await findInDatabase(secret)).toEqual([]);
  }

  /** Repeated requests have no effect. */
  async function declareTheSame(): Promise<void> {
    const before = await getCluster(acme, 'web');

    const again = await acme.insist({ method: 'PUT', path: '/clusters/web/', body: aCluster(system) });

    expect(again.status).toBe(200);
    // The observed state of a cluster changes by itself: its nodes are counted, and prices are read.
    expect([again.json.metadata.generation, again.json.spec]).toEqual([before.metadata.generation, before.spec]);
    expect(again.json.status.lastOperation).toEqual(before.status.lastOperation);
  }

  /** The cluster gives up its nodes, and gets them back. */
  async function hibernateAndResume(): Promise<void> {
    expect(await change(acme, 'POST', '/clusters/web/hibernate/')).toMatchObject({
      ...done,
      kind: 'cluster.hibernate',
    });
    const asleep = await untilPhase(acme, 'web', 'Hibernated');
    expect((await getShoot(system, asleep)).status).toMatchObject({ hibernated: true });
    const refused = await acme.insist({ method: 'POST', path: '/clusters/web/kubeconfig/', body: {} });
    expect(codeOf(refused)).toBe('cluster_not_ready');
    expect((await acme.insist({ method: 'POST', path: '/clusters/web/hibernate/' })).status).toBe(200);

    expect(await change(acme, 'POST', '/clusters/web/resume/')).toMatchObject({ ...done, kind: 'cluster.resume' });
    await untilPhase(acme, 'web', 'Ready');
    await expectAsDeclared(system, acme, 'web');
  }

  /** The cluster gets, changes and loses pools, except for the last. */
  async function changePools(): Promise<void> {
    const path = '/clusters/web/node-pools/batch/';
    const batch = aPool({ name: 'batch', machineType: 'cpx31', minimum: 2, maximum: 3 });

    expect(await change(acme, 'PUT', path, { spec: batch })).toMatchObject(done);
    await expectAsDeclared(system, acme, 'web');
    const issued = await acme.insist({ method: 'POST', path: '/clusters/web/kubeconfig/', body: {} });
    expect(await nodesOf(issued.json.kubeconfig)).toHaveLength(3);

    expect(await change(acme, 'PUT', path, { spec: { ...batch, minimum: 1 } })).toMatchObject(done);
    await expectAsDeclared(system, acme, 'web');

    expect(await change(acme, 'DELETE', path)).toMatchObject(done);
    await expectAsDeclared(system, acme, 'web');
    const last = await acme.insist({ method: 'DELETE', path: '/clusters/web/node-pools/general/' });
    expect(codeOf(last)).toBe('last_node_pool');
  }

  /** The cluster is never downgraded. */
  async function upgrade(): Promise<void> {
    const upgraded = await change(acme, 'PUT', '/clusters/web/', aCluster(system, { kubernetesVersion: '1.34' }));

    expect(upgraded).toMatchObject({ ...done, kind: 'cluster.update' });
    const shoot = await getShoot(system, await getCluster(acme, 'web'));
    expect(shoot.spec.kubernetes.version).toMatch(/^1\.34\./);
    const back = await acme.insist({ method: 'PUT', path: '/clusters/web/', body: aCluster(system) });
    expect(codeOf(back)).toBe('unsupported_version');
  }

  /** The deleted cluster frees its name and keeps its operations. */
  async function removeAndDeclareAnew(id: string): Promise<void> {
    const deleted = await change(acme, 'DELETE', '/clusters/web/');

    expect(deleted).toMatchObject({ ...done, kind: 'cluster.delete', target: { name: 'web', id } });
    expect(await acme.findCluster('web')).toBeNull();
    expect((await system.garden.shoots()).map(({ metadata }) => metadata.labels)).not.toContainEqual(
      expect.objectContaining({ 'corral.dev/cluster-id': id }),
    );
    const { json } = await acme.insist({ method: 'GET', path: '/operations/?target=web' });
    expect(json.items.map(({ state }: Operation) => state)).toEqual(json.items.map(() => 'succeeded'));

    expect(await change(acme, 'PUT', '/clusters/web/', aCluster(system))).toMatchObject(done);
    expect((await getCluster(acme, 'web')).metadata.id).not.toBe(id);
  }
});

/** Every column of every table that holds text. */
async function findInDatabase(needle: string): Promise<string[]> {
  const { rows: tables } = await system.pool.query<{ name: string }>(
    `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
     WHERE table_schema IN ('public', 'bullmq') AND table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await system.pool.query(`SELECT 1 FROM ${name} AS t WHERE t::text LIKE $1 LIMIT 1`, [
      `%${needle}%`,
    ]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}
