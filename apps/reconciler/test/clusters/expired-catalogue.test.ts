import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Declared, TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

let at: Clusters;
let reconciler: Reconciler;
let offered: ReturnType<Clusters['cloud']['admin']['garden']['catalogue']>['spec'];
beforeAll(async () => {
  at = await startClusters();
  offered = at.cloud.admin.garden.catalogue().spec;
});
afterEach(async () => {
  await reconciler.stop();
  at.cloud.admin.garden.patchCloudProfile(offered);
});
afterAll(() => at.close());

async function ready(declared: Declared): Promise<TestCluster> {
  // Each test has a catalogue that no pass has read before.
  reconciler = await at.start();
  const { team, connectionId } = await at.addTeamWithConnection();
  const cluster = await at.declare(team, connectionId, declared);
  await reconciler.wake(cluster.id);
  expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
  return cluster;
}

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

/** The garden's maintenance raises the image of the first pool, as it must once it has expired. */
async function maintain(cluster: TestCluster, version: string): Promise<void> {
  const [namespace, name] = await at.placeOf(cluster);
  const [first, ...others] = (await specOf(cluster)).provider.workers;
  const raised = { ...first, machine: { ...first?.machine, image: { name: 'ubuntu', version } } };
  at.cloud.admin.garden.editShoot(namespace, name, {
    manager: 'gardener-controller-manager',
    patch: { spec: { provider: { workers: [raised, ...others] } } },
  });
}

const reconciledOf = ({ conditions }: { conditions: { type: string; message: string }[] }) =>
  conditions.find(({ type }) => type === 'Reconciled')?.message;

describe('a cluster whose image has expired and was raised by the garden', () => {
  it('is scaled, hibernated and resumed with the image that it runs, and tells so', async () => {
    const pinned = { name: 'general', image: { name: 'ubuntu', version: '24.4.0' } };
    const cluster = await ready({ pools: [pinned] });
    at.cloud.admin.garden.expire({ image: { name: 'ubuntu', version: '24.4.0' } });
    await maintain(cluster, '24.4.1');

    const raised = await untilRow(at, cluster.id, (row) => reconciledOf(row)?.includes('24.4.1') === true);
    const ends = [
      await ended(cluster, { pools: [{ ...pinned, maximum: 5 }] }),
      await ended(cluster, { kind: 'cluster.hibernate', spec: { hibernated: true } }),
      await ended(cluster, { kind: 'cluster.resume', spec: { hibernated: false } }),
      await ended(cluster, { pools: [{ ...pinned, maximum: 5 }, { name: 'second' }] }),
    ];
    const { phase, ...row } = await untilRow(at, cluster.id, ({ due_at }) => due_at === null);

    expect(ends.map(({ state, error }) => [state, error])).toEqual(ends.map(() => ['succeeded', {}]));
    const { workers } = (await specOf(cluster)).provider;
    expect(workers.map(({ maximum, machine }) => [maximum, machine.image])).toEqual([
      [5, { name: 'ubuntu', version: '24.4.1' }],
      [3, { name: 'ubuntu', version: '24.4.1' }],
    ]);
    const told =
      'Another manager changed fields that are declared here: image.version of node pool general is 24.4.1 instead of 24.4.0 (gardener-controller-manager).';
    expect([reconciledOf(raised), phase, reconciledOf(row)]).toEqual([told, 'Ready', told]);
  });

  it('is set back by the next declaration while the declared image is offered', async () => {
    const pinned = { name: 'general', image: { name: 'gardenlinux', version: '1592.14.0' } };
    const cluster = await ready({ pools: [pinned] });
    const [namespace, name] = await at.placeOf(cluster);
    const [first] = (await specOf(cluster)).provider.workers;
    const image = { name: 'gardenlinux', version: '1877.5.0' };
    at.cloud.admin.garden.editShoot(namespace, name, {
      patch: { spec: { provider: { workers: [{ ...first, machine: { ...first?.machine, image } }] } } },
    });

    const end = await ended(cluster, { pools: [{ ...pinned, maximum: 5 }] });

    expect(end).toMatchObject({ state: 'succeeded' });
    expect((await specOf(cluster)).provider.workers[0]?.machine.image).toEqual(pinned.image);
  });
});

describe('a cluster of which the catalogue no longer offers', () => {
  it.each<[string, Declared, (admin: Clusters['cloud']['admin']['garden']) => unknown]>([
    ['the machine type', { pools: [{ name: 'general' }] }, (garden) => garden.expire({ machineType: 'cpx31' })],
    [
      'the machine type at all',
      { pools: [{ name: 'general', machineType: 'cax21' }] },
      (garden) =>
        garden.patchCloudProfile({ machineTypes: offered.machineTypes.filter(({ name }) => name !== 'cax21') }),
    ],
    [
      'the version',
      { spec: { kubernetesVersion: '1.33.6' } },
      (garden) => garden.expire({ kubernetesVersion: '1.33.6' }),
    ],
    [
      'any version of its minor version',
      { spec: { kubernetesVersion: '1.32' } },
      (garden) => garden.expire({ kubernetesVersion: '1.32.11' }),
    ],
    [
      'the region',
      { spec: { region: 'nbg1' } },
      (garden) => garden.patchCloudProfile({ regions: [{ name: 'fsn1', zones: [{ name: 'fsn1-dc14' }] }] }),
    ],
    [
      'the zone first',
      { spec: { region: 'sin' } },
      (garden) =>
        garden.patchCloudProfile({ regions: [{ name: 'sin', zones: [{ name: 'sin-dc2' }, { name: 'sin-dc1' }] }] }),
    ],
  ])('%s is scaled and hibernated all the same', async (_what, declared, end) => {
    const cluster = await ready(declared);
    const before = await specOf(cluster);
    end(at.cloud.admin.garden);
    await reconciler.stop();
    reconciler = await at.start();

    const [pool = { name: 'general' }] = declared.pools ?? [];
    const scaled = await ended(cluster, { pools: [{ ...pool, maximum: 5 }] });
    const asleep = await ended(cluster, { kind: 'cluster.hibernate', spec: { hibernated: true } });

    expect([scaled.state, scaled.error, asleep.state]).toEqual(['succeeded', {}, 'succeeded']);
    const machine = (spec: Spec) => spec.provider.workers.map((worker) => worker.machine);
    expect(machine(await specOf(cluster))).toEqual(machine(before));
  });
});
