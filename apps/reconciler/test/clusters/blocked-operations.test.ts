import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

let at: Clusters;
let reconciler: Reconciler;
beforeAll(async () => {
  at = await startClusters();
  reconciler = await at.start();
});
afterEach(() => at.cloud.admin.garden.clearShootFaults());
afterAll(() => at.close());

async function declared(): Promise<TestCluster> {
  const { team, connectionId } = await at.addTeamWithConnection();
  const cluster = await at.declare(team, connectionId);
  await reconciler.wake(cluster.id);
  return cluster;
}
async function goingAfter(ready: (namespace: string, name: string) => void) {
  const cluster = await declared();
  await untilEnded(at, cluster.operationId);
  ready(...(await at.placeOf(cluster)));
  const operationId = await at.requestDeletion(cluster);
  await reconciler.wake(cluster.id);
  return { ...cluster, operationId };
}
/** What the operation waits for, once it is this. The condition says the same. */
async function untilWaiting({ id, operationId }: TestCluster, reason: string) {
  const { conditions } = await untilRow(at, id, ({ waiting }) => waiting?.reason === reason);
  const { state, waiting } = await at.operation(operationId);
  const said = conditions.find(({ type }) => type === 'Reconciled');
  expect([state, said?.reason, said?.message]).toEqual(['running', waiting?.reason, waiting?.message]);
  return waiting?.message;
}

describe('an operation that the garden tries again and again', () => {
  it('says what it waits for, with pool, machine type and region, and since when', async () => {
    at.cloud.admin.garden.addShootFaults({
      times: null,
      effect: { codes: ['ERR_INFRA_RESOURCES_DEPLETED'], message: 'server type cpx31 is currently unavailable' },
    });
    const cluster = await declared();

    expect(await untilWaiting(cluster, 'ProviderOutOfStock')).toBe(
      'The provider has no capacity left for a machine type in fsn1. Concerned: node pool general (cpx31).',
    );
    at.cloud.admin.garden.clearShootFaults();
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', waiting: null });
  });
});

describe('a deletion', () => {
  it('names the objects in the cluster that block its clean-up', async () => {
    const cluster = await goingAfter(() =>
      at.cloud.admin.garden.addShootFaults({
        operations: ['Delete'],
        times: null,
        effect: {
          codes: ['ERR_CLEANUP_CLUSTER_RESOURCES'],
          message: 'remaining objects are still present: [*v1.Namespace /shop apps/v1, Kind=Deployment shop/web]',
        },
      }),
    );

    expect(await untilWaiting(cluster, 'CleanupBlocked')).toBe(
      'Objects in the cluster cannot be deleted. Concerned: Namespace shop, Deployment shop/web.',
    );
    at.cloud.admin.garden.clearShootFaults();
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', waiting: null });
  });

  it('names the finalizer that somebody else has set, and ends once it is gone', async () => {
    let place: [string, string] = ['', ''];
    const cluster = await goingAfter((...found) => {
      place = found;
      const patch = { metadata: { finalizers: ['gardener', 'example.org/keep'] } };
      at.cloud.admin.garden.editShoot(...place, { manager: 'backup-operator', patch });
    });

    expect(await untilWaiting(cluster, 'CleanupBlocked')).toBe(
      'The cluster is gone, but finalizers of others keep its entry in the garden: example.org/keep. Whoever set them has to remove them.',
    );
    at.cloud.admin.garden.removeFinalizers(...place);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', waiting: null });
  });
});
