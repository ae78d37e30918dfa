import { describeNeeding, missingRedisServer, waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { operationIdOf, type TeamClient } from '../support/clusters/client.js';
import { aCluster, aPool, change, getCluster, untilPhase } from '../support/clusters/journey.js';
import {
  type ClusterSystem,
  type ClusterSystemOptions,
  type ClusterTeam,
  startClusterSystem,
} from '../support/clusters/start-cluster-system.js';
import { restartablePostgres } from '../support/postgres.js';
import type { Program } from '../support/program.js';
import { restartableRedis } from '../support/redis.js';

const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
}, 60_000);

async function start(
  options: ClusterSystemOptions,
): Promise<{ system: ClusterSystem; team: ClusterTeam; acme: TeamClient }> {
  const system = await startClusterSystem({ apiEnv: { LOG_LEVEL: 'error' }, ...options });
  ends.push(system.stop);
  const team = system.teams[0] as ClusterTeam;
  return { system, team, acme: team.member };
}

const succeeded = { state: 'succeeded', progress: 100, error: {} };
/** What is promised, and some for a machine that has other work. */
const ENDED_WITHIN_MS = 10_000 + 3_000;

async function stopInTime(program: Program): Promise<void> {
  const startedAt = performance.now();
  expect(await program.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedAt).toBeLessThan(ENDED_WITHIN_MS);
}

/** Some request of that kind has reached the upstream. */
const untilCalled = ({ cloud }: ClusterSystem, route: string, times = 1) =>
  waitFor(
    `${times} × ${route}`,
    async () => {
      expect((await cloud.calls())[route]).toBeGreaterThanOrEqual(times);
      return true;
    },
    { timeoutMs: 30_000 },
  );

const APPLY_SHOOT = 'APPLY /apis/core.gardener.cloud/v1beta1/namespaces/:namespace/shoots/:name';

describe('a reconciler that is told to end', () => {
  it('ends in the middle of a pass, and another one takes the cluster over', async () => {
    const { system, acme } = await start({
      reconcilers: 2,
      reconcilerEnv: { GARDEN_TIMEOUT_MS: '60s', LOG_LEVEL: 'error' },
    });
    const [first, second] = system.reconcilers as unknown as readonly [Program, Program];
    await second.stop();
    await system.cloud.addFaults({
      match: { api: 'garden', method: 'APPLY', path: '/shoots/' },
      effect: { hang: true },
    });
    const put = await acme.insist({ method: 'PUT', path: '/clusters/web/', body: aCluster(system) });
    await untilCalled(system, APPLY_SHOOT);
    await second.start();
    await second.untilReady();

    await stopInTime(first);

    expect(await acme.untilEnded(operationIdOf(put) as string)).toMatchObject(succeeded);
    await untilPhase(acme, 'web', 'Ready');
    expect(await system.garden.lives()).toHaveLength(1);
  }, 120_000);

  it('gives the watch on the garden to another one', async () => {
    const { system, acme } = await start({ reconcilers: 2, reconcilerEnv: { LOG_LEVEL: 'error' } });
    const [first, second] = system.reconcilers as unknown as readonly [Program, Program];
    await change(acme, 'PUT', '/clusters/web/', aCluster(system));

    await stopInTime(first);
    expect(
      await change(acme, 'PUT', '/clusters/web/node-pools/batch/', { spec: aPool({ name: 'batch' }) }),
    ).toMatchObject(succeeded);
    await first.start();
    await first.untilReady();
    await stopInTime(second);
    expect(await change(acme, 'DELETE', '/clusters/web/node-pools/batch/')).toMatchObject(succeeded);
  }, 120_000);
});

describe('a cluster API that is told to end', () => {
  it('answers every request in flight, then ends with 0', async () => {
    const { system, team, acme } = await start({ apis: 2, apiEnv: { UPSTREAM_TIMEOUT_MS: '10s', LOG_LEVEL: 'error' } });
    const [api] = system.apis as unknown as readonly [Program, Program];
    await change(acme, 'PUT', '/clusters/web/', aCluster(system));
    await untilPhase(acme, 'web', 'Ready');
    await system.cloud.addFaults({ match: { api: 'garden', method: 'POST' }, times: null, effect: { delayMs: 1_500 } });
    await system.cloud.addFaults({
      match: { api: 'hcloud', path: '/placement_groups' },
      times: null,
      effect: { delayMs: 1_500 },
    });
    const verified = (await system.cloud.calls())['GET /v1/placement_groups'] ?? 0;
    // The replicas take them in turns, so that each has some.
    const connections = Array.from({ length: 10 }, (_, number) =>
      team.admin.send({
        ...{ method: 'PUT', path: `/connections/c${number}/` },
        body: { spec: { provider: 'hcloud', token: team.providerToken } },
      }),
    );
    const kubeconfigs = Array.from({ length: 6 }, () =>
      acme.send({ method: 'POST', path: '/clusters/web/kubeconfig/', body: {} }),
    );
    await untilCalled(system, 'GET /v1/placement_groups', verified + connections.length);

    await stopInTime(api);

    expect((await Promise.all(connections)).map(({ status }) => status)).toEqual(connections.map(() => 201));
    expect((await Promise.all(kubeconfigs)).map(({ status }) => status)).toEqual(kubeconfigs.map(() => 200));
  }, 120_000);
});

describe('while Postgres is away', () => {
  it('the API answers 503 with Retry-After, and all goes on by itself when it is back', async () => {
    const postgres = await restartablePostgres();
    ends.push(postgres.remove);
    const { system, acme } = await start({
      databaseUrl: postgres.url,
      speed: { createMs: 3_000 },
      reconcilerEnv: { LOG_LEVEL: 'error' },
    });
    const put = await acme.insist({ method: 'PUT', path: '/clusters/web/', body: aCluster(system) });
    await untilPhase(acme, 'web', 'Provisioning');

    await postgres.stop();
    const refused = [
      await acme.send({ method: 'GET', path: '/clusters/web/' }),
      await acme.send({
        method: 'PUT',
        path: '/clusters/web/node-pools/batch/',
        body: { spec: aPool({ name: 'batch' }) },
      }),
    ];
    await postgres.start();

    expect(refused.map(({ status, json }) => [status, json.code])).toEqual(
      refused.map(() => [503, 'service_unavailable']),
    );
    expect(await acme.untilEnded(operationIdOf(put) as string)).toMatchObject(succeeded);
    expect((await getCluster(acme, 'web')).spec.nodePools).toHaveLength(1);
    expect(await change(acme, 'POST', '/clusters/web/hibernate/')).toMatchObject(succeeded);
    for (const program of [...system.apis, ...system.reconcilers]) await stopInTime(program);
  }, 180_000);
});

describeNeeding(describe, missingRedisServer(), 'while Redis is away', () => {
  it('changes are accepted, and made once it is back', async () => {
    const redis = await restartableRedis();
    await redis.start();
    ends.push(redis.kill);
    const { system, acme } = await start({ redisUrl: redis.url, reconcilerEnv: { LOG_LEVEL: 'error' } });
    await change(acme, 'PUT', '/clusters/web/', aCluster(system));

    await redis.kill();
    const hibernate = await acme.send({ method: 'POST', path: '/clusters/web/hibernate/' });
    const declare = await acme.send({ method: 'PUT', path: '/clusters/other/', body: aCluster(system) });
    expect([hibernate.status, declare.status]).toEqual([202, 202]);
    await redis.start();

    for (const answer of [hibernate, declare]) {
      expect(await acme.untilEnded(operationIdOf(answer) as string)).toMatchObject(succeeded);
    }
  }, 120_000);
});
