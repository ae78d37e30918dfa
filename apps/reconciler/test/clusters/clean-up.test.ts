import { randomUUID } from 'node:crypto';
import { GardenError } from '@corral/garden';
import { silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CleanUpDeps, type CleanupOutcome, cleanUpGarden, cleanupStore } from '../../src/garden/clean-up.js';
import { type Clusters, PROJECT_TOKEN, startClusters } from '../support/start-clusters.js';
import { untilEnded } from '../support/until.js';

const MINUTE_MS = 60_000;
const running = () => new AbortController().signal;

let at: Clusters;
beforeAll(async () => {
  at = await startClusters();
});
afterAll(() => at.close());
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
const leaveMany = (count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => leave(`k${String(index).padStart(3, '0')}`)));

function cleanUp(deleteCredentials: CleanUpDeps['garden']['deleteCredentials'] = at.garden.deleteCredentials) {
  const outcomes: CleanupOutcome[] = [];
  const run = cleanUpGarden({
    store: cleanupStore(at.prisma),
    garden: { deleteCredentials },
    log: silentLog,
    random: () => 0,
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

describe('credentials of a deleted connection in a garden', () => {
  // Before other reconcilers start: a scheduled job runs once per interval.
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
    await at.garden.applyCredentials({ namespace, name: 'kgone', token: PROJECT_TOKEN, labels: {} });
    await leave('kgone', namespace);
    expect(heldOnGarden('kgone')).toEqual([true, true]);

    await cleanUpUntilGone();

    expect(heldOnGarden('kgone')).toEqual([false, false]);
  });

  it('stay while a Shoot uses them, and are deleted afterwards', async () => {
    const { team, connectionId } = await at.addTeamWithConnection();
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
});

describe('a failed deletion', () => {
  const away = async (): Promise<never> => {
    throw new GardenError('unreachable', 'delete credentialsbindings');
  };

  it('is retried with delays that double up to an hour', async () => {
    await leave('kaway');
    const waits: number[] = [];

    for (let attempt = 0; attempt < 12; attempt += 1) {
      await makeAllDue();
      await cleanUp(away);
      waits.push(Math.round(((await rows())[0]?.due_in_ms ?? 0) / 10_000) * 10);
    }

    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]);
    expect((await rows())[0]).toMatchObject({ failures: 12 });
  });

  it('is not retried before the Retry-After time', async () => {
    await leave('kthrottled');

    await cleanUp(async () => {
      throw new GardenError('throttled', 'delete secrets', { retryAfterSeconds: 600 });
    });

    expect((await rows())[0]?.due_in_ms).toBeGreaterThan(10 * MINUTE_MS);
  });

  it('is taken over by another process when the first one dies', async () => {
    await leave('kdied');
    await cleanupStore(at.prisma).claimDue(1, MINUTE_MS);

    const meanwhile = await cleanUp(async () => 'absent');

    expect(meanwhile.gone).toBe(0);
    // Due times are rounded to milliseconds.
    expect((await rows())[0]?.due_in_ms).toBeLessThanOrEqual(MINUTE_MS + 1);
    await makeAllDue();
    expect((await cleanUp(async () => 'absent')).gone).toBe(1);
  });
});

describe('many deletions', () => {
  it('are done in one run', async () => {
    await leaveMany(25);

    expect((await cleanUp(async () => 'absent')).gone).toBe(25);

    expect(await rows()).toEqual([]);
  });

  it('are sent once each by concurrent processes', async () => {
    await leaveMany(25);
    const deleted: string[] = [];
    const deleteCredentials = async ({ name }: { name: string }) => {
      deleted.push(name);
      return 'absent' as const;
    };

    await Promise.all([cleanUp(deleteCredentials), cleanUp(deleteCredentials), cleanUp(deleteCredentials)]);

    expect(deleted).toHaveLength(25);
    expect(new Set(deleted).size).toBe(25);
  });
});
