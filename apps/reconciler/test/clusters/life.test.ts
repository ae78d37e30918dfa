import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded } from '../support/until.js';

let at: Clusters;
let reconciler: Reconciler;
beforeAll(async () => {
  at = await startClusters();
  reconciler = await at.start();
});
afterAll(() => at.close());

describe('a declared cluster', () => {
  it('is created, hibernated, resumed, resized and deleted', async () => {
    const { team, connectionId } = await at.addTeamWithConnection();
    const cluster = await at.declare(team, connectionId);
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', progress: 100 });
    // A late observation of the last run may cause one more pass, which finds nothing to do.
    await waitFor('a steady cluster', async () => {
      expect(await at.row(cluster.id)).toMatchObject({ phase: 'Ready', observed_generation: 1, due_at: null });
      return true;
    });

    const slept = await at.change(cluster, { kind: 'cluster.hibernate', spec: { hibernated: true } });
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, slept.operationId)).toMatchObject({ state: 'succeeded' });
    expect(await at.row(cluster.id)).toMatchObject({ phase: 'Hibernated', observed_generation: 2 });

    const woken = await at.change(cluster, { kind: 'cluster.resume', spec: { hibernated: false } });
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, woken.operationId)).toMatchObject({ state: 'succeeded' });

    const resized = await at.change(cluster, { pools: [{ name: 'general', maximum: 5 }, { name: 'more' }] });
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, resized.operationId)).toMatchObject({ state: 'succeeded' });
    const { shoots } = await at.garden.listShoots({ labelSelector: 'corral.dev/managed=true' });
    expect(shoots).toHaveLength(1);
    expect(shoots[0]?.spec).toMatchObject({ provider: { workers: [{ maximum: 5 }, { maximum: 3 }] } });

    const deletion = await at.requestDeletion(cluster);
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, deletion)).toMatchObject({ state: 'succeeded' });
    expect(await at.row(cluster.id)).toBeUndefined();
    expect((await at.garden.listShoots({ labelSelector: '' })).shoots).toEqual([]);
  });
});
