import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TeamClient } from '../../../support/clusters/client.js';
import { aCluster, aPool, expectAsDeclared } from '../../../support/clusters/journey.js';
import { type ClusterSystem, startClusterSystem } from '../../../support/clusters/start-cluster-system.js';

type Worker = ClusterSystem['reconcilers'][number];

/** More than all workers together take at a time. */
const NAMES = Array.from({ length: 16 }, (_, number) => `c${number}`);

let system: ClusterSystem;
let acme: TeamClient;
let workers: readonly [Worker, Worker, Worker];
beforeAll(async () => {
  system = await startClusterSystem({
    reconcilers: 3,
    reconcilerEnv: { RECONCILE_CONCURRENCY: '2', LOG_LEVEL: 'error' },
  });
  acme = (system.teams[0] as ClusterSystem['teams'][number]).member;
  workers = system.reconcilers as unknown as typeof workers;
});
afterAll(() => system?.stop());

/** Every cluster, as declared or changed. */
async function declareAll(maximum: number): Promise<void> {
  const body = aCluster(system, { nodePools: [aPool({ maximum })] });
  const answers = await Promise.all(
    NAMES.map((name) => acme.insist({ method: 'PUT', path: `/clusters/${name}/`, body })),
  );
  expect(answers.map(({ status }) => status)).toEqual(NAMES.map(() => 202));
}

async function atRest(): Promise<number> {
  const { rows } = await system.pool.query<{ count: number }>(
    'SELECT count(*)::int FROM cluster WHERE observed_generation = generation AND due_at IS NULL',
  );
  return rows[0]?.count ?? 0;
}
const untilAtRest = () => waitFor('all clusters to be at rest', async () => (await atRest()) === NAMES.length);

const SHOOT = '/apis/core.gardener.cloud/v1beta1/namespaces/:namespace/shoots/:name';
/** Access to the clusters themselves, whose nodes are counted later. */
const ACCESS = `POST ${SHOOT}/viewerkubeconfig`;

/** How often a pass read or wrote a Shoot meanwhile, and anything else that a cluster has in the garden. */
async function callsDuring(work: () => Promise<void>): Promise<{ read: number; written: number; others: number }> {
  const before = await system.cloud.calls();
  await work();
  const after = await system.cloud.calls();
  const since = (route: string): number => (after[route] ?? 0) - (before[route] ?? 0);
  const [read, written] = [since(`GET ${SHOOT}`), since(`APPLY ${SHOOT}`)];
  const ofObjects = Object.keys(after).filter((route) => route.includes('/:namespace/') && route !== ACCESS);
  return { read, written, others: ofObjects.reduce((sum, route) => sum + since(route), 0) - read - written };
}

async function passesOf({ metricsUrl }: Worker): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  const done = [...text.matchAll(/^corral_reconcile_passes_total\{[^}]*outcome="finished"[^}]*\} (\d+)$/gm)];
  return done.reduce((sum, [, passes]) => sum + Number(passes), 0);
}
const passesOfAll = () => Promise.all(workers.map(passesOf));

describe('three workers, while each call to the garden takes long', () => {
  it('share the clusters with as many calls as one needs alone, and do without one that is killed', async () => {
    const [first, second, third] = workers;
    await Promise.all([second.stop(), third.stop()]);
    await declareAll(1);
    await untilAtRest();
    await system.cloud.addFaults({ match: { api: 'garden' }, times: null, effect: { delayMs: 500 } });
    const changeAll = (maximum: number) => async () => {
      await declareAll(maximum);
      await untilAtRest();
    };

    const alone = await callsDuring(changeAll(2));
    await Promise.all([second.start(), third.start()]);
    await Promise.all([second.untilReady(), third.untilReady()]);
    const before = await passesOf(first);
    const together = await callsDuring(changeAll(3));

    expect(alone).toMatchObject({ written: NAMES.length, others: 0 });
    expect(together).toMatchObject({ written: NAMES.length });
    // Each process that has come reads the certificate authority of a cluster once.
    expect(together.others).toBeLessThanOrEqual(2 * NAMES.length);
    // On a slow machine the poll of a change may come before its end.
    expect(together.read).toBeLessThanOrEqual(1.25 * alone.read);
    const [ofFirst, ofSecond, ofThird] = (await passesOfAll()) as [number, number, number];
    const passes = [ofFirst - before, ofSecond, ofThird];
    // Each could have taken all of them. A fair share is a third.
    for (const ofOne of passes) expect(ofOne).toBeGreaterThanOrEqual(NAMES.length / 8);

    await declareAll(4);
    await waitFor('a pass of the second', async () => (await passesOf(second)) > ofSecond);
    await second.kill();
    await untilAtRest();

    for (const name of NAMES) await expectAsDeclared(system, acme, name);
    expect(await system.garden.lives()).toHaveLength(NAMES.length);
  });
});
