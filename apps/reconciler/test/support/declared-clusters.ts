import type { ConnectionId } from '@corral/contracts';
import { expect } from '@jest/globals';
import type { Declared, TestCluster } from './cluster-rows.js';
import type { Clusters, Reconciler, StartOptions } from './start-clusters.js';
import { untilEnded } from './until.js';

/** Clusters of one file: declared, and awaited. @param at what the file has started by then */
export function declaredClusters(at: () => Clusters) {
  const started: Reconciler[] = [];
  async function declareOne(declared?: Declared): Promise<TestCluster & { connectionId: ConnectionId }> {
    const { team, connectionId } = await at().addConnectionOfTeam();
    return { ...(await at().declare(team, connectionId, declared)), connectionId };
  }
  async function expectSuccess(clusters: readonly TestCluster[]): Promise<void> {
    for (const { operationId } of clusters) {
      expect(await untilEnded(at(), operationId)).toMatchObject({ state: 'succeeded', progress: 100 });
    }
  }
  const shootsEver = (shootName: string) =>
    at()
      .cloud.admin.garden.shootHistory()
      .filter((life) => life.name === shootName).length;
  return {
    async start(options?: StartOptions): Promise<Reconciler> {
      const reconciler = await at().start(options);
      started.push(reconciler);
      return reconciler;
    },
    stopAll: () => Promise.all(started.splice(0).map((reconciler) => reconciler.stop())),
    declareOne,
    declare: (count: number) => Promise.all(Array.from({ length: count }, () => declareOne())),
    expectSuccess,
    shootsEver,
    /** They succeed, each with one Shoot. */
    async expectCreatedOnce(clusters: readonly TestCluster[]): Promise<void> {
      await expectSuccess(clusters);
      for (const { id } of clusters) expect(shootsEver((await at().row(id)).shoot_name)).toBe(1);
    },
  };
}

export const wakeAll = (reconciler: Reconciler, clusters: readonly TestCluster[]) =>
  Promise.all(clusters.map(({ id }) => reconciler.wake(id)));

/** The sum of a metric over the outcomes that match. */
export async function metric({ metrics }: Reconciler, name: string, outcome = /./): Promise<number> {
  const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
  return values.filter(({ labels }) => outcome.test(String(labels.outcome))).reduce((sum, { value }) => sum + value, 0);
}

export const isWatching = async (reconciler: Reconciler) =>
  (await metric(reconciler, 'corral_reconcile_watching')) === 1;
