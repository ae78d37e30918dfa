import { describeNeeding, missingRedisServer, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { operationIdOf, type TeamClient } from '../../../support/clusters/client.js';
import { aCluster, aPool, change, getCluster, getShoot, untilPhase } from '../../../support/clusters/journey.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';
import type { Program } from '../../../support/system/program.js';
import { type RestartableStores, restartableStores } from '../../../support/system/restartable-stores.js';
import { undo } from '../../../support/system/system-parts.js';

const ends: (() => Promise<unknown>)[] = [];
let stores: RestartableStores;
let system: ClusterSystem;
let team: ClusterTeam;
let acme: TeamClient;
const programs = (): Program[] => [...system.apis, ...system.reconcilers];

beforeAll(async () => {
  stores = await restartableStores(ends);
  const { databaseUrl, redisUrl } = stores;
  system = await startClusterSystem({
    reconcilers: 2,
    databaseUrl,
    redisUrl,
    apiEnv: { LOG_LEVEL: 'error' },
    // Longer than any process may take to stop.
    reconcilerEnv: { GARDEN_TIMEOUT_MS: '60s', LOG_LEVEL: 'error' },
  });
  ends.push(system.stop);
  team = system.teams[0] as ClusterTeam;
  acme = team.member;
});
/** The previous test stopped some of them. */
beforeEach(async () => {
  await Promise.all(programs().map((program) => program.start()));
  await Promise.all(programs().map((program) => program.untilReady()));
});
afterEach(() => system.cloud.clearFaults());
afterAll(async () => {
  await undo(ends);
});

const succeeded = { state: 'succeeded', progress: 100, error: {} };

/** A process that cannot close everything within its own `SHUTDOWN_GRACE_MS` exits with another code. */
async function stopInTime(program: Program): Promise<void> {
  expect(await program.stop()).toEqual({ code: 0, signal: null });
}

/** Waits until so many requests of each route have reached the upstream since the work began. */
async function untilCalled<T>(times: Readonly<Record<string, number>>, work: () => T): Promise<T> {
  const before = await system.cloud.calls();
  const begun = work();
  for (const [route, count] of Object.entries(times)) {
    await waitFor(`${count} × ${route}`, async () => {
      const calls = (await system.cloud.calls())[route] ?? 0;
      return calls >= (before[route] ?? 0) + count;
    });
  }
  return begun;
}

const SHOOT = '/apis/core.gardener.cloud/v1beta1/namespaces/:namespace/shoots/:name';

describe('a reconciler that is asked to stop', () => {
  it('stops in the middle of a pass, and another one takes over the cluster and the watch on the garden', async () => {
    const [first, second] = system.reconcilers as unknown as readonly [Program, Program];
    const pool = '/clusters/taken-over/node-pools/batch/';
    await second.stop();
    await system.cloud.addFaults({
      match: { api: 'garden', method: 'APPLY', path: '/shoots/' },
      effect: { hang: true },
    });
    const { put } = await untilCalled({ [`APPLY ${SHOOT}`]: 1 }, () => ({
      put: acme.insist({ method: 'PUT', path: '/clusters/taken-over/', body: aCluster(system) }),
    }));
    await second.start();
    await second.untilReady();

    await stopInTime(first);

    expect(await acme.untilEnded(operationIdOf(await put) as string)).toMatchObject(succeeded);
    const cluster = await untilPhase(acme, 'taken-over', 'Ready');
    const { name } = (await getShoot(system, cluster)).metadata;
    expect((await system.garden.lives()).filter((life) => life.name === name)).toHaveLength(1);
    await first.start();
    await first.untilReady();
    await stopInTime(second);
    expect(await change(acme, 'PUT', pool, { spec: aPool({ name: 'batch' }) })).toMatchObject(succeeded);
    expect(await change(acme, 'DELETE', pool)).toMatchObject(succeeded);
  });
});

describe('while Postgres is unavailable', () => {
  it('the API answers 503 with Retry-After, and everything recovers by itself when it is back', async () => {
    await system.garden.addShootFaults({ operations: ['Create'], effect: { stuck: true } });
    const put = await acme.insist({ method: 'PUT', path: '/clusters/later/', body: aCluster(system) });
    await untilPhase(acme, 'later', 'Provisioning');

    await stores.postgres.stop();
    const refused = [
      await acme.send({ method: 'GET', path: '/clusters/later/' }),
      await acme.send({
        method: 'PUT',
        path: '/clusters/later/node-pools/batch/',
        body: { spec: aPool({ name: 'batch' }) },
      }),
    ];
    await stores.postgres.start();
    await system.garden.clearShootFaults();

    expect(refused.map(({ status, json }) => [status, json.code])).toEqual(
      refused.map(() => [503, 'service_unavailable']),
    );
    expect(await acme.untilEnded(operationIdOf(put) as string)).toMatchObject(succeeded);
    expect((await getCluster(acme, 'later')).spec.nodePools).toHaveLength(1);
    expect(await change(acme, 'POST', '/clusters/later/hibernate/')).toMatchObject(succeeded);
    for (const [one] of [system.apis, system.reconcilers]) await stopInTime(one as Program);
  });
});

describeNeeding(describe, missingRedisServer(), 'while Redis is unavailable', () => {
  it('changes are accepted, and carried out once it is back', async () => {
    await change(acme, 'PUT', '/clusters/on-redis/', aCluster(system));

    await stores.redis?.kill();
    const hibernate = await acme.send({ method: 'POST', path: '/clusters/on-redis/hibernate/' });
    const declare = await acme.send({ method: 'PUT', path: '/clusters/other/', body: aCluster(system) });
    expect([hibernate.status, declare.status]).toEqual([202, 202]);
    await stores.redis?.start();

    for (const answer of [hibernate, declare]) {
      expect(await acme.untilEnded(operationIdOf(answer) as string)).toMatchObject(succeeded);
    }
  });
});
