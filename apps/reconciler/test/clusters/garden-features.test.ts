import type { GardenFeature } from '@corral/garden';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Declared, TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded } from '../support/until.js';

const network = { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' };
const extensionFields = ['existingNetwork', 'imageOptions', 'publicIP'] as const;

let at: Clusters;
const started: Reconciler[] = [];
beforeAll(async () => {
  at = await startClusters();
});
afterEach(async () => {
  at.cloud.admin.garden.changeSettings({ extensionFields: [] });
  await Promise.all(started.splice(0).map((reconciler) => reconciler.stop()));
});
afterAll(() => at.close());

async function start(...features: GardenFeature[]): Promise<Reconciler> {
  const reconciler = await at.start({ settings: { features: new Set(features) } });
  started.push(reconciler);
  return reconciler;
}

async function declare(reconciler: Reconciler, declared: Declared): Promise<TestCluster> {
  const { team, connectionId } = await at.addTeamWithConnection();
  const cluster = await at.declare(team, connectionId, declared);
  await reconciler.wake(cluster.id);
  return cluster;
}

type Provider = {
  infrastructureConfig: { networks: Record<string, unknown> };
  workers: [{ providerConfig?: unknown; machine: { image: { providerConfig?: unknown } } }];
};
const shootOf = async (cluster: TestCluster) => {
  const [namespace, name] = await at.placeOf(cluster);
  return at.garden.readShoot({ namespace, name });
};
const providerOf = async (cluster: TestCluster): Promise<Provider> =>
  (await shootOf(cluster))?.spec.provider as Provider;

interface Case {
  readonly feature: GardenFeature;
  readonly declared: Declared;
  readonly pointer: string;
  /** The value that was written to the garden. */
  readonly written: (provider: Provider) => unknown;
  readonly expected: unknown;
}

const cases: Case[] = [
  {
    feature: 'existing-network',
    declared: { spec: { network: { ...network, existingNetwork: 'backbone' } } },
    pointer: 'network.existingNetwork',
    written: ({ infrastructureConfig }) => infrastructureConfig.networks.existingNetwork,
    expected: 'backbone',
  },
  {
    feature: 'private-nodes',
    declared: { pools: [{ name: 'general', publicIP: false }] },
    pointer: 'nodePools[0].publicIP',
    written: ({ workers }) => workers[0].providerConfig,
    expected: expect.objectContaining({ kind: 'WorkerConfig', publicIP: false }),
  },
  {
    feature: 'image-options',
    declared: { pools: [{ name: 'general', image: { name: 'ubuntu', hugePages: 2 } }] },
    pointer: 'nodePools[0].image.hugePages',
    written: ({ workers }) => workers[0].machine.image.providerConfig,
    expected: { hugePages: 2 },
  },
];

describe.each(cases)('a cluster that uses $feature', ({ feature, declared, pointer, written, expected }) => {
  it('is created with it when the garden and its extension support it', async () => {
    at.cloud.admin.garden.changeSettings({ extensionFields });
    const cluster = await declare(await start(feature), declared);

    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });

    expect(written(await providerOf(cluster))).toEqual(expected);
    expect(await at.row(cluster.id)).toMatchObject({ conditions: expect.not.arrayContaining([drifted]) });
  });

  it('fails with the name of the field, and is not created, when the feature is not configured', async () => {
    at.cloud.admin.garden.changeSettings({ extensionFields });
    const cluster = await declare(await start(), declared);

    const { state, error } = await untilEnded(at, cluster.operationId);

    expect([state, error.message]).toEqual(['failed', expect.stringContaining(pointer)]);
    expect(await shootOf(cluster)).toBeNull();
  });

  it('fails with an error of the garden when the extension does not support it', async () => {
    const cluster = await declare(await start(feature), declared);

    const { state, error } = await untilEnded(at, cluster.operationId);

    expect(state).toBe('failed');
    expect(error).toMatchObject({ code: 'refused_by_garden' });
    expect(await shootOf(cluster)).toBeNull();
  });
});

const drifted = expect.objectContaining({ type: 'Drifted', status: 'True' });
