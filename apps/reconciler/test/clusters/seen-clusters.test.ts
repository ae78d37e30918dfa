import { randomUUID, X509Certificate } from 'node:crypto';
import { removeConnection } from '@corral/cluster-data';
import type { ObservedCluster } from '@corral/contracts';
import { readClock } from '@corral/database';
import { GardenError, type NodeReading } from '@corral/garden';
import { silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CleanupOutcome, cleanUpGarden, cleanupStore } from '../../src/garden/clean-up.js';
import { countNodes, countStore } from '../../src/garden/count-nodes.js';
import type { TestCluster, TestPool } from '../support/cluster-rows.js';
import { type Clusters, PROJECT_TOKEN, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

let at: Clusters;
beforeAll(async () => {
  at = await startClusters();
});
afterAll(() => at.close());

describe('credentials of a deleted connection in a garden', () => {
  const MINUTE_MS = 60_000;
  const running = () => new AbortController().signal;

  beforeEach(() => at.pool.query('DELETE FROM garden_cleanup'));

  interface CleanupRow {
    readonly name: string;
    readonly failures: number;
    readonly due_in_ms: number;
  }

  const rows = async (): Promise<CleanupRow[]> =>
    (
      await at.pool.query<CleanupRow>(
        `SELECT *, (extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS due_in_ms
       FROM garden_cleanup ORDER BY name`,
      )
    ).rows;
  const makeAllDue = () => at.pool.query(`UPDATE garden_cleanup SET due_at = now() - interval '1 s'`);

  /** The row that the cluster API writes when a connection is deleted. Due immediately. */
  const leave = (name: string, namespace = 'garden-x') =>
    at.pool.query('INSERT INTO garden_cleanup (namespace, name, due_at) VALUES ($1, $2, now())', [namespace, name]);

  function cleanUp(garden = at.garden) {
    const outcomes: CleanupOutcome[] = [];
    const run = cleanUpGarden({
      store: cleanupStore(at.prisma),
      garden,
      log: silentLog,
      onOutcome: (outcome) => void outcomes.push(outcome),
    });
    return run(running()).then((gone) => ({ gone, outcomes }));
  }
  const cleanUpUntilGone = () =>
    waitFor('the credentials to be gone', async () => {
      await makeAllDue();
      await cleanUp();
      return (await rows()).length === 0;
    });

  const heldOnGarden = (name: string) => {
    const { secrets, credentialsBindings } = at.cloud.admin.garden.contents();
    const isIt = (held: { name: string }) => held.name === name;
    return [secrets.some(isIt), credentialsBindings.some(isIt)];
  };

  // This test comes before other reconcilers start: a scheduled job runs once per interval.
  it('are found by a reconciler on its own', async () => {
    await leave(`k${randomUUID().slice(0, 8)}`);

    const reconciler = await at.start();

    await waitFor('all clean-ups to be done', async () => (await rows()).length === 0);
    const cleanups = await reconciler.metrics.registry.getSingleMetric('corral_garden_cleanups_total')?.get();
    expect(cleanups?.values).toEqual([expect.objectContaining({ labels: { outcome: 'gone' }, value: 1 })]);
    await reconciler.stop();
  });

  it('are deleted with Secret and binding', async () => {
    const namespace = await waitFor('a Project', async () => {
      const project = { name: 'tcleanup', labels: {}, annotations: {}, description: '' };
      return (await at.garden.ensureProject(project)).namespace;
    });
    const team = await at.addTeam();
    const id = await at.addConnection(team);
    await at.pool.query('UPDATE team SET project_namespace = $2 WHERE id = $1', [team.id, namespace]);
    const { gardenName: name } = await at.prisma.connection.findUniqueOrThrow({ where: { id } });
    await at.garden.applyCredentials({ namespace, name, token: PROJECT_TOKEN, labels: {} });

    await at.prisma.$transaction(async (tx) => removeConnection(tx, { teamId: team.id, id, now: await readClock(tx) }));

    // A pass that has lost its lease may still write them.
    expect(await rows()).toEqual([expect.objectContaining({ name, failures: 0 })]);
    expect((await rows())[0]?.due_in_ms).toBeGreaterThan(MINUTE_MS / 2);
    expect(heldOnGarden(name)).toEqual([true, true]);
    await cleanUpUntilGone();
    expect(heldOnGarden(name)).toEqual([false, false]);
  });

  it('stay while a Shoot uses them, and are deleted afterwards', async () => {
    const { team, connectionId } = await at.addConnectionOfTeam();
    const cluster = await at.declare(team, connectionId);
    const reconciler = await at.start();
    await reconciler.wake(cluster.id);
    await untilEnded(at, cluster.operationId);
    const { rows: held } = await at.pool.query(
      'SELECT garden_name, project_namespace FROM connection JOIN team ON team_id = team.id WHERE connection.id = $1',
      [connectionId],
    );
    const { garden_name: name, project_namespace: namespace } = held[0];
    await leave(name, namespace);

    const { outcomes } = await cleanUp();

    expect(outcomes).toEqual(['waiting']);
    expect(heldOnGarden(name)).toEqual([true, true]);
    const deletion = await at.requestDeletion(cluster);
    await reconciler.wake(cluster.id);
    await untilEnded(at, deletion);
    await cleanUpUntilGone();
    expect(heldOnGarden(name)).toEqual([false, false]);
    await reconciler.stop();
  });

  it.each([
    [0, 0, 10],
    [3, 0, 80],
    [30, 0, 3_600],
    [0, 600, 610],
  ])('after %i failures and a Retry-After of %i s are tried again %i s later', async (failures, asked, seconds) => {
    await leave('kaway');
    await at.pool.query('UPDATE garden_cleanup SET failures = $1', [failures]);
    const throttled = new GardenError('throttled', 'delete secrets', { retryAfterSeconds: asked });

    await cleanUp({ ...at.garden, deleteCredentials: () => Promise.reject(throttled) });

    const [row] = await rows();
    expect(row?.failures).toBe(failures + 1);
    expect(row?.due_in_ms).toBeGreaterThan(seconds * 1_000 - 5_000);
    expect(row?.due_in_ms).toBeLessThan(seconds * 1_200 + 1_000);
  });
});

describe('what passes and counts see', () => {
  const HOUR_MS = 3_600_000;

  let reconciler: Reconciler;
  beforeAll(async () => {
    reconciler = await start();
  });
  afterEach(async () => {
    at.cloud.admin.clearFaults();
    at.cloud.admin.garden.setRights('reconciler', null);
    await at.pool.query('UPDATE cluster SET nodes_due_at = NULL');
  });

  /** Nodes are counted after changes, or when a test makes them due. */
  const start = () => at.start({ intervals: { sweep: 200 } });

  const twoPools: TestPool[] = [
    { name: 'general', minimum: 2 },
    { name: 'batch', minimum: 1 },
  ];

  async function aReadyCluster(): Promise<TestCluster> {
    const { team, connectionId } = await at.addConnectionOfTeam();
    const cluster = await at.declare(team, connectionId, { pools: twoPools });
    await reconciler.wake(cluster.id);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    return cluster;
  }

  const observedOf = async (cluster: TestCluster) => (await at.row(cluster.id)).observed as ObservedCluster | null;
  const untilAuthority = (cluster: TestCluster, is: (data: string | null) => boolean) =>
    untilRow(at, cluster.id, ({ observed }) => {
      const { apiServer } = (observed ?? {}) as Partial<ObservedCluster>;
      return apiServer != null && is(apiServer.certificateAuthorityData);
    });
  const untilCounted = (cluster: TestCluster, counts: unknown) =>
    waitFor('the nodes to be counted', async () => {
      // A count comes two seconds after a change, which a test need not wait for.
      await at.pool.query(
        `UPDATE cluster SET nodes_due_at = clock_timestamp()
       WHERE id = $1 AND nodes_due_at BETWEEN clock_timestamp() AND clock_timestamp() + interval '3 s'`,
        [cluster.id],
      );
      const row = await at.row(cluster.id);
      expect(row.node_counts).toEqual(counts);
      return row;
    });
  const makeDue = (cluster: TestCluster) =>
    at.pool.query('UPDATE cluster SET nodes_due_at = now() WHERE id = $1', [cluster.id]);
  /** Waits until the garden has reported everything about what it created. */
  const untilQuiet = (cluster: TestCluster) =>
    untilRow(
      at,
      cluster.id,
      ({ conditions, due_at, lease_until }) =>
        due_at === null && lease_until === null && conditions.every(({ status }) => status === 'True'),
    );

  describe('the certificate authority of a cluster', () => {
    it('is reported as in kubeconfigs', async () => {
      const cluster = await aReadyCluster();
      const [namespace, name] = await at.placeOf(cluster);

      await untilAuthority(cluster, (data) => data !== null);

      const data = (await observedOf(cluster))?.apiServer?.certificateAuthorityData ?? '';
      const { kubeconfig } = await at.garden.adminKubeconfig({ namespace, name, expirationSeconds: 600 });
      expect(kubeconfig).toContain(`certificate-authority-data: ${data}`);
      expect(new X509Certificate(Buffer.from(data, 'base64')).ca).toBe(true);
    });

    it('is null without the right to read it, without delaying anything else', async () => {
      const rules = at.cloud.admin.garden.rights('reconciler');
      const without = rules.filter(({ resources }) => !resources.includes('configmaps'));
      at.cloud.admin.garden.setRights('reconciler', without);

      const cluster = await aReadyCluster();

      expect((await observedOf(cluster))?.apiServer).toMatchObject({ certificateAuthorityData: null });
      expect(await untilQuiet(cluster)).toMatchObject({ phase: 'Ready', failures: 0 });
    });
  });

  describe('the nodes of a cluster', () => {
    const all = { general: { ready: 2, total: 2 }, batch: { ready: 1, total: 1 } };

    it('are counted by pool once they have joined', async () => {
      const cluster = await aReadyCluster();

      await untilCounted(cluster, all);
    });

    it('are counted again when the garden reports a problem with them', async () => {
      const cluster = await aReadyCluster();
      const [namespace, name] = await at.placeOf(cluster);
      await untilCounted(cluster, all);
      await untilQuiet(cluster);
      const [node] = at.cloud.admin.garden
        .nodes(namespace, name)
        .filter(({ labels }) => labels['corral.dev/pool'] === 'general');

      at.cloud.admin.garden.silenceNode(namespace, name, node?.name ?? '', true);
      await untilCounted(cluster, { ...all, general: { ready: 1, total: 2 } });
      // The count may have been due earlier: the garden reports nothing about a node that recovers before it was missed.
      await untilRow(at, cluster.id, ({ phase }) => phase === 'Degraded');

      at.cloud.admin.garden.silenceNode(namespace, name, node?.name ?? '', false);
      await untilCounted(cluster, all);
    });

    it('are recorded with their addresses, as load balancers are, until these are gone', async () => {
      const cluster = await aReadyCluster();
      const [namespace, name] = await at.placeOf(cluster);
      const { name: ownerName } = await at.row(cluster.id);
      const counted = async () => {
        await makeDue(cluster);
        await untilRow(at, cluster.id, ({ nodes_due_at: dueAt }) => (dueAt?.getTime() ?? 0) > Date.now() + 60_000);
        const { rows } = await at.pool.query(
          `SELECT kind, name, pool, address, owner_name, gone_at IS NOT NULL AS is_gone FROM team_address
           WHERE cluster_id = $1 ORDER BY address`,
          [cluster.id],
        );
        return rows;
      };
      const service = { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'web', name: 'edge' } };
      const balanced = (ingress: object[]) => ({
        ...service,
        spec: { type: 'LoadBalancer' },
        status: { loadBalancer: { ingress } },
      });
      const put = (ingress: object[]) =>
        at.cloud.admin.garden.putObject(namespace, name, '/services/web/edge', balanced(ingress));
      put([{ ip: '192.0.2.1' }, { hostname: 'LB.example.com' }]);

      const first = await counted();
      put([{ ip: '192.0.2.1' }]);
      const second = await counted();
      const deletion = await at.requestDeletion(cluster);
      await reconciler.wake(cluster.id);
      await untilEnded(at, deletion);
      const { rows: left } = await at.pool.query(
        'SELECT DISTINCT gone_at IS NOT NULL AS is_gone FROM team_address WHERE num_nonnulls(cluster_id, server_id) = 0',
      );

      expect(
        first
          .filter(({ kind }) => kind === 'node')
          .map(({ pool }) => pool)
          .sort(),
      ).toEqual(['batch', 'batch', 'general', 'general', 'general', 'general']);
      const balancer = { kind: 'loadBalancer', name: 'web/edge', pool: null, owner_name: ownerName };
      expect(first).toEqual(
        expect.arrayContaining([
          { ...balancer, address: '192.0.2.1', is_gone: false },
          { ...balancer, address: 'lb.example.com', is_gone: false },
        ]),
      );
      expect(second.filter(({ is_gone: isGone }) => isGone).map(({ address }) => address)).toEqual(['lb.example.com']);
      expect(left).toEqual([{ is_gone: true }]);
    });

    it('lose their addresses while the cluster hibernates, and load balancers keep theirs', async () => {
      const cluster = await aReadyCluster();
      // A pass or count that has begun would find it awake.
      await untilCounted(cluster, all);
      await untilQuiet(cluster);
      await at.pool.query(
        `INSERT INTO team_address (team_id, cluster_id, owner_name, kind, name, address)
         VALUES ($1, $2, 'web', 'node', 'n', '192.0.2.1'), ($1, $2, 'web', 'loadBalancer', 'web/edge', '192.0.2.2')`,
        [cluster.team.id, cluster.id],
      );
      await at.pool.query(`UPDATE cluster SET phase = 'Hibernated' WHERE id = $1`, [cluster.id]);
      await makeDue(cluster);

      await waitFor('only the load balancer to be there', async () => {
        const { rows } = await at.pool.query(
          'SELECT address FROM team_address WHERE cluster_id = $1 AND gone_at IS NULL',
          [cluster.id],
        );
        expect(rows).toEqual([{ address: '192.0.2.2' }]);
        return true;
      });
    });

    it('are unknown while the cluster’s own API server does not answer, without delaying anything else', async () => {
      const cluster = await aReadyCluster();
      await untilCounted(cluster, all);
      at.cloud.admin.addFaults({ match: { api: 'shoot' }, times: null, effect: { reset: 'before' } });
      await makeDue(cluster);
      await untilCounted(cluster, null);

      const other = await aReadyCluster();
      expect(await at.row(other.id)).toMatchObject({ phase: 'Ready', node_counts: null });

      at.cloud.admin.clearFaults();
      await makeDue(cluster);
      await untilCounted(cluster, all);
    });

    it('are unknown without the right to read them, and no admin kubeconfig is used instead', async () => {
      const rules = at.cloud.admin.garden.rights('reconciler');
      const without = rules.filter(({ resources }) => !resources.includes('shoots/viewerkubeconfig'));
      at.cloud.admin.garden.setRights('reconciler', without);
      await reconciler.stop();
      reconciler = await start();
      at.cloud.admin.resetCalls();

      const cluster = await aReadyCluster();
      await waitFor('a count that failed', async () => {
        await makeDue(cluster);
        const counted = await reconciler.metrics.registry.getSingleMetric('corral_node_counts_total')?.get();
        return counted?.values.some(({ labels, value }) => labels.outcome === 'unknown' && value > 0);
      });

      expect(await at.row(cluster.id)).toMatchObject({ phase: 'Ready', node_counts: null });
      const routes = Object.keys(at.cloud.admin.calls().byRoute);
      expect(routes.filter((route) => route.includes('adminkubeconfig') || route.startsWith('shoot'))).toEqual([]);
    });
  });

  describe('a count', () => {
    beforeAll(() => reconciler.stop());

    const aDueCluster = async () => {
      const { team, connectionId } = await at.addTeamWithConnection();
      const cluster = await at.declare(team, connectionId, { pools: twoPools });
      const observed = { kubernetes: null, apiServer: { url: 'https://a' }, nodePools: [], maintenance: null };
      await at.pool.query(
        `UPDATE cluster SET nodes_due_at = now(), due_at = NULL, observed = $2::jsonb WHERE id = $1`,
        [cluster.id, JSON.stringify(observed)],
      );
      await at.pool.query(`UPDATE team SET project_namespace = 'garden-' || slug WHERE id = $1`, [team.id]);
      return cluster;
    };
    const store = () => countStore(at);
    const claim = async ({ id }: TestCluster) => {
      const due = (await store().claimDue(100, HOUR_MS)).find((each) => each.id === id);
      if (due === undefined) throw new Error('The cluster was not due.');
      return due;
    };

    const ready = (pool: string, isReady = true) =>
      ({
        name: 'n',
        uid: 'u',
        isReady,
        isUnschedulable: false,
        labels: { 'corral.dev/pool': pool },
        annotations: {},
        externalIps: [],
      }) satisfies NodeReading;
    const allReady = [ready('general'), ready('general'), ready('batch')];
    it.each<[when: string, status: string, nodes: NodeReading[], hours: number, unchangedHours?: number]>([
      ['six hours later when all nodes are ready, as the garden reports', 'True', allReady, 6],
      ['sooner if the cluster has changed three hours ago', 'True', allReady, 3, 3],
      ['after the interval if it has just changed', 'True', allReady, 1, 0],
      ['after the interval while one is not ready', 'True', [...allReady, ready('batch', false)], 1],
      ['after the interval while there are fewer than the minimum', 'True', allReady.slice(1), 1],
      ['after the interval while the garden reports that one is not ready', 'False', allReady, 1],
    ])('is repeated %s', async (_when, status, nodes, hours, unchangedHours = 48) => {
      const cluster = await aDueCluster();
      await at.pool.query(
        `UPDATE node_pool SET minimum = CASE name WHEN 'general' THEN 2 ELSE 1 END WHERE cluster_id = $1`,
        [cluster.id],
      );
      await at.pool.query(
        'UPDATE cluster SET conditions = $2::jsonb, updated_at = now() - make_interval(hours => $3) WHERE id = $1',
        [cluster.id, JSON.stringify([{ type: 'NodesReady', status }]), unchangedHours],
      );
      const garden = { ...at.garden, listNodes: async () => nodes };
      const onCounted = () => undefined;

      await countNodes({ store: store(), garden, intervalMs: HOUR_MS, onCounted, random: () => 1 })(
        new AbortController().signal,
      );

      const { nodes_due_at: dueAt } = await at.row(cluster.id);
      const inHours = ((dueAt?.getTime() ?? 0) - Date.now()) / HOUR_MS;
      expect(inHours).toBeGreaterThan(hours / 2);
      expect(inHours).toBeLessThan(hours * 1.5);
    });

    it.each([
      ['without an API server address', `observed = '{"apiServer": null}'`],
      ['before the first observation', 'observed = NULL'],
      ['for a hibernated cluster', `phase = 'Hibernated'`],
      ['for a cluster under deletion', 'deletion_requested_at = now()'],
    ])('makes no call %s', async (_what, change) => {
      const cluster = await aDueCluster();
      await at.pool.query(`UPDATE cluster SET ${change} WHERE id = $1`, [cluster.id]);

      expect(await claim(cluster)).toMatchObject({ shoot: null });
    });
  });
});
