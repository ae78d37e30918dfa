import type { GardenFeature } from '@corral/garden';
import type { FaultRule } from '@corral/local-cloud';
import { describeEachNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Declared, TestCluster } from '../support/cluster-rows.js';
import {
  type Clusters,
  OTHER_TOKEN,
  type Reconciler,
  type StartOptions,
  startClusters,
} from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

const redis: TestRedis | null = await redisForTests();
afterAll(() => redis?.stop());

let at: Clusters;

beforeAll(async () => {
  at = await startClusters();
});

afterAll(() => at.close());

const started: Reconciler[] = [];

describe('on a garden', () => {
  const HOUR_MS = 3_600_000;

  afterEach(async () => {
    at.cloud.admin.clearFaults();
    await Promise.all(started.splice(0).map((reconciler) => reconciler.stop()));
  });

  async function start(options?: StartOptions): Promise<Reconciler> {
    const reconciler = await at.start(options);
    started.push(reconciler);
    return reconciler;
  }

  async function declare(count = 1): Promise<TestCluster[]> {
    const { team, connectionId } = await at.addTeamWithConnection();
    return Promise.all(Array.from({ length: count }, () => at.declare(team, connectionId)));
  }
  async function declareOne(): Promise<TestCluster> {
    const [cluster] = await declare();
    return cluster as TestCluster;
  }

  /** A Ready cluster that needs no more steps. */
  async function aReadyCluster(reconciler: Reconciler): Promise<TestCluster> {
    const cluster = await declareOne();
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    await untilRow(at, cluster.id, ({ due_at, lease_until }) => due_at === null && lease_until === null);
    return cluster;
  }

  const shootsEver = (shootName: string) =>
    at.cloud.admin.garden.shootHistory().filter((life) => life.name === shootName).length;
  const metric = async (reconciler: Reconciler, name: string, outcome = /./): Promise<number> => {
    const values = (await reconciler.metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
    return values
      .filter(({ labels }) => outcome.test(String(labels.outcome)))
      .reduce((sum, { value }) => sum + value, 0);
  };

  const backends = [
    { backend: 'Postgres', missing: null },
    { backend: 'Redis', redisUrl: redis?.url, missing: missingRedis() },
  ];

  describeEachNeeding(describe, backends, 'with wake-ups on $backend', ({ backend, redisUrl }) => {
    it('two reconcilers share the work, and create each cluster once', async () => {
      const reconcilers = await Promise.all([start({ redisUrl }), start({ redisUrl })]);
      const clusters = await declare(10);
      for (const { id } of clusters) await Promise.all(reconcilers.map((reconciler) => reconciler.wake(id)));

      for (const cluster of clusters) {
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded', progress: 100 });
        expect(shootsEver((await at.row(cluster.id)).shoot_name)).toBe(1);
      }
    });

    it('finds clusters without a wake-up by the sweep, and counts them', async () => {
      const reconciler = await start({ redisUrl });
      const cluster = await declareOne();

      expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });

      expect(await metric(reconciler, 'corral_reconcile_sweep_found_total')).toBeGreaterThanOrEqual(1);
    });

    it('continues after the queue has lost everything', async () => {
      const reconciler = await start({ redisUrl });
      const clusters = await declare(4);
      for (const { id } of clusters) await reconciler.wake(id);
      await untilRow(at, (clusters[0] as TestCluster).id, ({ applied_generation }) => applied_generation === 1);

      if (backend === 'Redis') {
        const client = new Redis(redisUrl as string);
        await client.flushall();
        client.disconnect();
      } else {
        // Workers lock the tables in a different order, so a deadlock may abort this statement.
        await waitFor('the queue to be emptied', () =>
          at.pool.query('TRUNCATE bullmq.job, bullmq.dedup, bullmq.dedup_next CASCADE'),
        );
      }

      for (const cluster of clusters) {
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
      }
    });
  });

  describe('a reconciler that shuts down', () => {
    it('releases its lease to another one immediately, although the garden hangs', async () => {
      // Neither the hanging call nor the lease ends during this test.
      const settings = { leaseMs: HOUR_MS };
      const first = await start({ settings, closeMs: 500, gardenTimeoutMs: HOUR_MS });
      at.cloud.admin.addFaults({
        match: { api: 'garden', method: 'APPLY', path: '/shoots/' },
        times: 1,
        effect: { hang: true },
      });
      const cluster = await declareOne();
      await first.wake(cluster.id);
      await waitFor('the pass to hang', () => at.cloud.admin.faults()[0]?.remaining === 0);
      const second = await start({ settings, intervals: { sweep: HOUR_MS } });

      await first.stop();

      expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
      expect(await metric(second, 'corral_reconcile_passes_total')).toBeGreaterThan(0);
      expect(shootsEver((await at.row(cluster.id)).shoot_name)).toBe(1);
    });

    it('hands over the watch, which only one process holds', async () => {
      const reconcilers = [await start(), await start()];
      const watching = () => Promise.all(reconcilers.map((each) => metric(each, 'corral_reconcile_watching')));
      await waitFor('one reconciler to watch', async () => (await watching()).includes(1));
      expect((await watching()).sort()).toEqual([0, 1]);
      expect(at.cloud.admin.garden.contents().openWatches).toBe(1);
      const leader = reconcilers[(await watching()).indexOf(1)] as Reconciler;
      const other = reconcilers.find((each) => each !== leader) as Reconciler;

      await leader.stop();

      await waitFor(
        'the other reconciler to watch',
        async () => (await metric(other, 'corral_reconcile_watching')) === 1,
      );
    });
  });

  describe('the watch', () => {
    it('reports a foreign change even after its version had expired', async () => {
      const reconciler = await start();
      const cluster = await aReadyCluster(reconciler);
      const [namespace, name] = await at.placeOf(cluster);
      await waitFor('the watch', async () => (await metric(reconciler, 'corral_reconcile_watching')) === 1);
      await untilChecked([cluster]);

      at.cloud.admin.garden.dropWatches({ expireHistory: true });
      at.cloud.admin.garden.editShoot(namespace, name, {
        conditions: [{ type: 'EveryNodeReady', status: 'False', reason: 'NodeNotReady', message: 'secret-name' }],
      });

      const row = await untilRow(at, cluster.id, ({ phase }) => phase === 'Degraded');
      expect(JSON.stringify(row.conditions)).not.toContain('secret-name');
    });

    it('detects a Shoot that was removed while no reconciler ran', async () => {
      const first = await start();
      const cluster = await aReadyCluster(first);
      const [namespace, name] = await at.placeOf(cluster);
      await first.stop();

      at.cloud.admin.garden.vanishShoot(namespace, name);
      await start();

      const row = await untilRow(at, cluster.id, ({ phase }) => phase === 'Failed');
      expect(row.conditions).toContainEqual(expect.objectContaining({ type: 'ShootMissing' }));
      expect(shootsEver(name)).toBe(1);
    });

    it('causes no pass and no other call for unchanged clusters, for any number of lists', async () => {
      const reconciler = await start({ settings: { relistIntervalMs: 250 } });
      const clusters = [
        await aReadyCluster(reconciler),
        await aReadyCluster(reconciler),
        await aReadyCluster(reconciler),
      ];
      await waitFor('the watch', async () => (await metric(reconciler, 'corral_reconcile_watching')) === 1);
      await untilChecked(clusters);
      // Clusters of other tests without an answer would be counted repeatedly.
      const ids = clusters.map(({ id }) => id);
      await at.pool.query('UPDATE cluster SET nodes_due_at = NULL WHERE id <> ALL($1)', [ids]);
      const lists = async (count: number): Promise<void> => {
        at.cloud.admin.resetCalls();
        const LIST = 'GET /apis/core.gardener.cloud/v1beta1/shoots';
        await waitFor('lists', () => (callsLike('shoots')[LIST] ?? 0) >= count);
      };
      // An earlier observation may still cause a pass. A round counts once that has ended.
      await waitFor('a round of lists that costs nothing else', async () => {
        const passes = await metric(reconciler, 'corral_reconcile_passes_total');
        await lists(3);
        expect(Object.keys(callsLike('shoots')).filter((route) => route.includes(':name'))).toEqual([]);
        expect(await metric(reconciler, 'corral_reconcile_passes_total')).toBe(passes);
        return true;
      });
    });

    /** After each run the garden checks the health of the result and reports it. */
    const untilChecked = (clusters: readonly { id: string }[]) =>
      waitFor('the garden to have checked all', async () => {
        const rows = await Promise.all(clusters.map(({ id }) => at.row(id)));
        return rows.every(({ conditions }) => conditions.every(({ status }: { status: string }) => status === 'True'));
      });

    const callsLike = (part: string): Record<string, number> =>
      Object.fromEntries(Object.entries(at.cloud.admin.calls().byRoute).filter(([route]) => route.includes(part)));
  });

  describe('a garden with failures', () => {
    it.each([
      ['throttles', { status: 429, retryAfter: 1 }],
      ['denies access', { status: 401 }],
      ['answers 503', { status: 503 }],
      ['drops connections', { reset: 'before' as const }],
    ])('that %s only delays operations', async (_what, effect) => {
      const reconciler = await start();
      const clusters = await declare(3);
      at.cloud.admin.addFaults({ match: { api: 'garden' }, times: 5, effect });

      for (const { id } of clusters) await reconciler.wake(id);

      for (const cluster of clusters) {
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
        expect(shootsEver((await at.row(cluster.id)).shoot_name)).toBe(1);
      }
    });

    it('is left alone during its outage, and no operation fails', async () => {
      const reconciler = await start();
      at.cloud.admin.addFaults({ match: { api: 'garden' }, times: null, effect: { status: 401 } });
      const clusters = await declare(6);
      for (const { id } of clusters) await reconciler.wake(id);
      await waitFor('a second pause', async () => (await metric(reconciler, 'corral_reconcile_pauses_total')) >= 2);

      const states = await Promise.all(
        clusters.map(async ({ operationId }) => (await at.operation(operationId)).state),
      );
      expect(new Set(states)).toEqual(new Set(['queued']));
      await waitFor(
        'the gate to have no place',
        async () => (await metric(reconciler, 'corral_reconcile_places')) === 0,
      );
      // Passes that had entered before the first pause, and then one per pause. A pass is counted after the pause that it causes, and
      // read before it.
      const failed = await metric(reconciler, 'corral_reconcile_passes_total', /^failed/);
      const pauses = await metric(reconciler, 'corral_reconcile_pauses_total');
      expect(failed).toBeGreaterThan(0);
      expect(failed).toBeLessThanOrEqual(clusters.length + pauses);
      at.cloud.admin.clearFaults();
      for (const cluster of clusters) {
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
      }
    });

    it('with a single cluster does not delay others', async () => {
      const reconciler = await start({ settings: { concurrency: 2 } });
      const poison = await declareOne();
      const { shoot_name } = await at.row(poison.id);
      at.cloud.admin.addFaults({
        match: { api: 'garden', path: `/shoots/${shoot_name}` },
        times: null,
        effect: { status: 500 },
      });
      await reconciler.wake(poison.id);
      await untilRow(at, poison.id, ({ failures }) => failures >= 2);

      const others = await declare(5);
      for (const { id } of others) await reconciler.wake(id);

      for (const cluster of others) {
        expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
      }
      expect(await at.operation(poison.operationId)).toMatchObject({ state: expect.stringMatching(/queued|running/) });
    });
  });

  describe('a replaced token', () => {
    it('is verified, written to the garden, and taken up by the running cluster', async () => {
      const reconciler = await start();
      const cluster = await aReadyCluster(reconciler);
      const { rows } = await at.pool.query('SELECT connection_id FROM cluster WHERE id = $1', [cluster.id]);
      const [{ connection_id: connectionId }] = rows;
      const read = async () =>
        (
          await at.pool.query(
            `SELECT connection.*, applied_token_version FROM connection JOIN cluster ON connection_id = connection.id
           WHERE connection.id = $1`,
            [connectionId],
          )
        ).rows[0];

      await at.seal(connectionId, OTHER_TOKEN);
      await at.pool.query(
        `UPDATE connection SET token_version = 2, phase = 'Unverified', verify_at = now() WHERE id = $1`,
        [connectionId],
      );

      await waitFor('the token to be taken up', async () => (await read()).applied_token_version === 2);
      expect(await read()).toMatchObject({ phase: 'Ready', garden_token_version: 2, verify_failures: 0 });
      await untilRow(at, cluster.id, ({ phase, due_at }) => phase === 'Ready' && due_at === null);
      expect(shootsEver((await at.row(cluster.id)).shoot_name)).toBe(1);
    });

    it('is not written when the provider rejects it, and the cluster reports why', async () => {
      const reconciler = await start();
      const cluster = await aReadyCluster(reconciler);
      const { rows } = await at.pool.query('SELECT connection_id FROM cluster WHERE id = $1', [cluster.id]);
      const [{ connection_id: connectionId }] = rows;

      await at.seal(connectionId, 'no-token-of-any-project');
      await at.pool.query(
        `UPDATE connection SET token_version = 2, phase = 'Unverified', verify_at = now() WHERE id = $1`,
        [connectionId],
      );

      const row = await untilRow(at, cluster.id, ({ conditions }) =>
        conditions.some(({ type, status }) => type === 'ConnectionReady' && status === 'False'),
      );
      expect(JSON.stringify(row.conditions)).not.toContain('no-token');
      const connection = (await at.pool.query('SELECT * FROM connection WHERE id = $1', [connectionId])).rows[0];
      expect(connection).toMatchObject({ phase: 'Rejected', garden_token_version: 1 });
    });
  });
});

describe('a declared cluster', () => {
  let at: Clusters;
  let reconciler: Reconciler;
  beforeAll(async () => {
    at = await startClusters();
    reconciler = await at.start();
  });
  afterAll(() => at.close());
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

describe('garden features', () => {
  const network = { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' };
  const extensionFields = ['existingNetwork', 'imageOptions', 'publicIP'] as const;
  afterEach(async () => {
    at.cloud.admin.garden.changeSettings({ extensionFields: [] });
    await Promise.all(started.splice(0).map((reconciler) => reconciler.stop()));
  });

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
});

describe('all clusters that wait for the garden continue after its return', () => {
  const FEW = 4;
  /**
   * Only the tested mechanism makes a cluster due: retries and lists are an hour away. The sweep recovers wake-ups that are
   * lost on a busy machine, as in production.
   */
  const SELDOM = { relistIntervalMs: 3_600_000 };
  let reconciler: Reconciler;
  afterEach(async () => {
    at.cloud.admin.clearFaults();
    await reconciler.stop();
    await at.pool.query('DELETE FROM leadership');
  });

  /** Ready clusters without work in progress. */
  async function aFew(): Promise<TestCluster[]> {
    const { team, connectionId } = await at.addTeamWithConnection();
    const clusters: TestCluster[] = [];
    for (let made = 0; made < FEW; made += 1) clusters.push(await at.declare(team, connectionId));
    const maker = await at.start();
    for (const { id } of clusters) await maker.wake(id);
    for (const { operationId } of clusters) await untilEnded(at, operationId);
    await maker.stop();
    return clusters;
  }

  /** A reconciler without some of the tasks that detect the garden's return: another process holds them and does nothing. */
  async function startWithout(...tasks: ('watch-shoots' | 'probe-garden')[]): Promise<void> {
    for (const task of tasks) {
      await at.pool.query(
        `INSERT INTO leadership (name, holder, until) VALUES ($1, gen_random_uuid(), now() + interval '1 hour')
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until`,
        [task],
      );
    }
    reconciler = await at.start({ settings: SELDOM });
  }

  /** Changes the clusters while the garden is unavailable. */
  async function change(clusters: readonly TestCluster[], fault: FaultRule): Promise<void> {
    at.cloud.admin.addFaults({ ...fault, times: null });
    if (fault.match?.path === undefined) at.cloud.admin.garden.dropWatches();
    for (const cluster of clusters) {
      await at.change(cluster, { pools: [{ name: 'general', maximum: 9 }] });
      await reconciler.wake(cluster.id);
    }
    for (const { id } of clusters) await untilLongWaiting(id);
  }

  /** After many failures its next pass would be an hour away. */
  async function untilLongWaiting(id: string): Promise<void> {
    await untilRow(at, id, ({ waiting }) => waiting?.reason === 'GardenUnavailable');
    await waitFor('a moment between two passes', async () => {
      const { rowCount } = await at.pool.query(
        `UPDATE cluster SET due_at = clock_timestamp() + interval '1 hour', failures = 12
       WHERE id = $1 AND lease_until IS NULL AND waiting IS NOT NULL`,
        [id],
      );
      return rowCount === 1;
    });
  }

  async function expectToContinue(clusters: readonly TestCluster[]): Promise<void> {
    for (const { id } of clusters)
      await untilRow(at, id, ({ waiting, failures }) => waiting === null && failures === 0);
  }

  const away = { match: { api: 'garden' }, effect: { reset: 'before' } } as const;
  /** Open watches stay open. */
  const halfAway = { match: { api: 'garden', path: '/shoots/' }, effect: { status: 503 } } as const;
  it('when a pass of one of them got an answer', async () => {
    const clusters = await aFew();
    await startWithout('watch-shoots', 'probe-garden');
    await change(clusters, away);
    at.cloud.admin.clearFaults();

    const { id } = clusters[0] as TestCluster;
    await at.pass(id, 3_600_000);
    await waitFor('a pass of one of them', async () => {
      await reconciler.wake(id);
      return (await at.row(id)).waiting === null;
    });

    await expectToContinue(clusters);
  });

  it('when the watch opens again', async () => {
    const clusters = await aFew();
    await startWithout('probe-garden');
    await change(clusters, away);

    at.cloud.admin.clearFaults();

    await expectToContinue(clusters);
  });

  it('when the probe is answered, although the watch was never interrupted', async () => {
    const clusters = await aFew();
    await startWithout('watch-shoots');
    await change(clusters, halfAway);

    at.cloud.admin.clearFaults();

    await expectToContinue(clusters);
  });
});
