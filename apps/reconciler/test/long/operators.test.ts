import { type Log, type LogFields, silentLog } from '@corral/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Changed, ClusterRow, Declared, TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

let at: Clusters;
beforeAll(async () => {
  at = await startClusters();
});
afterAll(() => at.close());

describe('foreign changes', () => {
  let reconciler: Reconciler;
  beforeAll(async () => {
    // The sweep must not find a cluster between a test's change and its wake-up.
    reconciler = await at.start({ intervals: { sweep: 3_600_000 } });
  });
  afterAll(() => reconciler.stop());

  /** Makes the declaration older, because a change within two seconds of it counts as earlier. */
  const age = (operationId: string) =>
    at.pool.query("UPDATE operation SET created_at = created_at - interval '10 s' WHERE id = $1", [operationId]);

  /** A Ready cluster that needs no more steps. */
  async function aReadyCluster(pools: readonly { name: string }[] = [{ name: 'general' }]): Promise<TestCluster> {
    const { team, connectionId } = await at.addConnectionOfTeam();
    const cluster = await at.declare(team, connectionId, { pools });
    await age(cluster.operationId);
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    return cluster;
  }

  const shootOf = async (cluster: TestCluster) => {
    const [namespace, name] = await at.placeOf(cluster);
    const shoot = await at.garden.readShoot({ namespace, name });
    if (shoot === null) throw new Error('The Shoot is gone.');
    return shoot;
  };
  const workersOf = async (cluster: TestCluster) =>
    ((await shootOf(cluster)).spec.provider as { workers: Record<string, unknown>[] }).workers;

  /** An operator edits the Shoot manually. */
  async function edit(cluster: TestCluster, spec: object, manager = 'kubectl-edit'): Promise<void> {
    const [namespace, name] = await at.placeOf(cluster);
    at.cloud.admin.garden.editShoot(namespace, name, { manager, patch: { spec } });
  }
  async function scale(cluster: TestCluster, maximum: number, manager?: string): Promise<void> {
    const [first, ...others] = await workersOf(cluster);
    await edit(cluster, { provider: { workers: [{ ...first, maximum }, ...others] } }, manager);
  }
  async function declare(cluster: TestCluster, changed: Changed) {
    const { operationId } = await at.change(cluster, changed);
    await reconciler.wake(cluster.id);
    return untilEnded(at, operationId);
  }
  const conditionOf = ({ conditions }: ClusterRow, name: string) => conditions.find(({ type }) => type === name);
  const untilDrifted = (cluster: TestCluster) =>
    untilRow(at, cluster.id, (row) => conditionOf(row, 'Reconciled')?.reason === 'Drifted');
  const overridesOf = async (cluster: TestCluster) => {
    const { rows } = await at.pool.query(
      `SELECT detail FROM audit_entry WHERE target_id = $1 AND action = 'cluster.override' ORDER BY id`,
      [cluster.id],
    );
    return rows.map(({ detail }) => detail);
  };

  it('a declared field that an operator changes is reported with its manager and kept until the team’s next declaration', async () => {
    const cluster = await aReadyCluster();
    await scale(cluster, 7);

    const row = await untilDrifted(cluster);
    const kept = await workersOf(cluster);
    const operation = await declare(cluster, { pools: [{ name: 'general', maximum: 5 }] });

    expect(conditionOf(row, 'Reconciled')).toMatchObject({
      status: 'False',
      message:
        'Another manager changed fields that are declared here: maximum of node pool general is 7 instead of 3 (kubectl-edit).',
    });
    expect(kept).toMatchObject([{ maximum: 7 }]);
    expect(operation).toMatchObject({ state: 'succeeded' });
    expect(await workersOf(cluster)).toMatchObject([{ maximum: 5 }]);
    expect(await overridesOf(cluster)).toEqual([
      { generation: 2, fields: [{ field: 'maximum of node pool general', manager: 'kubectl-edit' }] },
    ]);
    await untilRow(at, cluster.id, (each) => conditionOf(each, 'Reconciled')?.status === 'True');
  });
});

describe('a garden in the way', () => {
  let reconciler: Reconciler;
  const errors: { message: string; fields: LogFields | undefined }[] = [];
  beforeAll(async () => {
    const note = (message: string, fields?: LogFields) => void errors.push({ message, fields });
    const log: Log = { ...silentLog, error: note, child: () => log };
    reconciler = await at.start({ log });
  });
  afterAll(() => reconciler.stop());
  afterEach(() => {
    at.cloud.admin.clearFaults();
    at.cloud.admin.garden.changeSettings({ admission: [] });
    at.cloud.admin.garden.setRights('reconciler', null);
  });

  async function declared(isTeamNew = false): Promise<TestCluster> {
    const { team, connectionId } = await (isTeamNew ? at.addTeamWithConnection() : at.addConnectionOfTeam());
    return at.declare(team, connectionId);
  }
  /** Lets time pass for the cluster and wakes it. */
  async function requestPass({ id }: TestCluster): Promise<void> {
    await at.pass(id, 3_600_000);
    await reconciler.wake(id);
  }

  it('an admission webhook that does not answer keeps only the clusters of its namespace waiting, and is named', async () => {
    const { team, connectionId } = await at.addConnectionOfTeam();
    const first = await at.declare(team, connectionId);
    await reconciler.wake(first.id);
    await untilEnded(at, first.operationId);
    const [namespace] = await at.placeOf(first);
    at.cloud.admin.garden.changeSettings({
      admission: [{ name: 'own.example.org', kind: 'dead webhook', namespace }],
    });
    const blocked = await Promise.all([1, 2, 3, 4].map(() => at.declare(team, connectionId)));
    for (const { id } of blocked) await reconciler.wake(id);
    for (const { id } of blocked) await untilRow(at, id, ({ waiting }) => waiting?.reason === 'WebhookUnavailable');

    const other = await declared(true);
    await reconciler.wake(other.id);
    const unhindered = await untilEnded(at, other.operationId);
    const pauses = await reconciler.metrics.registry.getSingleMetric('corral_reconcile_pauses_total')?.get();
    const { state, waiting } = await at.operation((blocked[0] as TestCluster).operationId);
    at.cloud.admin.garden.changeSettings({ admission: [] });
    await requestPass(blocked[0] as TestCluster);
    const ended = await untilEnded(at, (blocked[0] as TestCluster).operationId);

    expect([unhindered.state, ended.state]).toEqual(['succeeded', 'succeeded']);
    expect(pauses?.values.find(({ labels }) => labels.reason === 'away')?.value).toBe(0);
    expect(state).toBe('running');
    expect(waiting?.message).toBe(
      'The admission webhook own.example.org of the garden does not answer. Work continues once it does.',
    );
  });
});

describe('expired catalogue', () => {
  let reconciler: Reconciler;
  let offered: ReturnType<Clusters['cloud']['admin']['garden']['catalogue']>['spec'];
  beforeAll(() => {
    offered = at.cloud.admin.garden.catalogue().spec;
  });
  afterEach(async () => {
    await reconciler.stop();
    at.cloud.admin.garden.patchCloudProfile(offered);
  });

  async function ended(cluster: TestCluster, changed: Parameters<Clusters['change']>[1]) {
    const { operationId } = await at.change(cluster, changed);
    await reconciler.wake(cluster.id);
    return untilEnded(at, operationId);
  }

  interface Spec {
    readonly provider: {
      readonly workers: readonly {
        readonly maximum: number;
        readonly machine: { readonly type: string; readonly architecture: string; readonly image: object };
      }[];
    };
  }
  async function specOf(cluster: TestCluster): Promise<Spec> {
    const [namespace, name] = await at.placeOf(cluster);
    return at.cloud.admin.garden.editShoot(namespace, name, {}).spec as Spec;
  }

  it('is no obstacle to clusters whose machine type, version, region or first zone it no longer offers', async () => {
    const all = await Promise.all(
      [
        { pools: [{ name: 'general' }] },
        { pools: [{ name: 'general', machineType: 'cax21' }] },
        { spec: { kubernetesVersion: '1.33.6' } },
        { spec: { kubernetesVersion: '1.32' } },
        { spec: { region: 'nbg1' } },
        { spec: { region: 'sin' } },
      ].map(async (declared: Declared) => {
        const { team, connectionId } = await at.addConnectionOfTeam();
        return {
          pool: declared.pools?.[0] ?? { name: 'general' },
          ...(await at.declare(team, connectionId, declared)),
        };
      }),
    );
    reconciler = await at.start();
    for (const { id } of all) await reconciler.wake(id);
    for (const { operationId } of all) expect(await untilEnded(at, operationId)).toMatchObject({ state: 'succeeded' });
    const machines = async (cluster: TestCluster) =>
      (await specOf(cluster)).provider.workers.map((worker) => worker.machine);
    const before = await Promise.all(all.map(machines));

    const { garden } = at.cloud.admin;
    garden.patchCloudProfile({
      machineTypes: offered.machineTypes.filter(({ name }) => name !== 'cax21'),
      regions: [
        { name: 'fsn1', zones: [{ name: 'fsn1-dc14' }] },
        { name: 'sin', zones: [{ name: 'sin-dc2' }, { name: 'sin-dc1' }] },
      ],
    });
    garden.expire({ machineType: 'cpx31' });
    garden.expire({ kubernetesVersion: '1.33.6' });
    garden.expire({ kubernetesVersion: '1.32.11' });
    await reconciler.stop();
    reconciler = await at.start();
    const scaled = await Promise.all(all.map((each) => ended(each, { pools: [{ ...each.pool, maximum: 5 }] })));
    const asleep = await Promise.all(
      all.map((each) => ended(each, { kind: 'cluster.hibernate', spec: { hibernated: true } })),
    );

    expect(scaled.map(({ state, error }) => [state, error])).toEqual(all.map(() => ['succeeded', {}]));
    expect(asleep.map(({ state }) => state)).toEqual(all.map(() => 'succeeded'));
    expect(await Promise.all(all.map(machines))).toEqual(before);
  });
});
