import type { Cluster } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationIdOf, type TeamClient } from '../../support/clusters/client.js';
import {
  aCluster,
  aPool,
  change,
  codeOf,
  conditionOf,
  expectAsDeclared,
  findShoot,
  getCluster,
  getShoot,
  untilCluster,
  untilPhase,
} from '../../support/clusters/journey.js';
import { type RowChange, readRowChanges, recordRowChanges } from '../../support/clusters/row-history.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  shortTimeouts,
  startClusterSystem,
} from '../../support/clusters/start-cluster-system.js';
import type { FaultRule } from '../../support/system/local-cloud.js';

let system: ClusterSystem;
let team: ClusterTeam;
let acme: TeamClient;

beforeAll(async () => {
  system = await startClusterSystem({
    apiEnv: { LOG_LEVEL: 'error' },
    // Work continues because something woke it: no test here waits for an interval to find it.
    reconcilerEnv: {
      LOG_LEVEL: 'error',
      RECONCILE_SWEEP_INTERVAL_MS: '1h',
      GARDEN_RELIST_INTERVAL_MS: '1h',
      ...shortTimeouts,
    },
  });
  team = system.teams[0] as ClusterTeam;
  acme = team.member;
});
afterEach(async () => {
  await system.cloud.clearFaults();
  await system.garden.clearShootFaults();
});
afterAll(async () => {
  await system?.stop();
});

const succeeded = { state: 'succeeded', progress: 100, error: {} };

/** Declares a cluster of the smallest kind. @returns the cluster once it is ready */
async function make(name: string, changes: object = {}): Promise<Cluster> {
  expect(await change(acme, 'PUT', `/clusters/${name}/`, aCluster(system, changes))).toMatchObject(succeeded);
  return untilPhase(acme, name, 'Ready');
}

const putPool = (name: string, pool: object) =>
  ({ method: 'PUT', path: `/clusters/${name}/node-pools/general/`, body: { spec: aPool(pool) } }) as const;

describe('problems that only the team can fix', () => {
  it('the change fails with a token that the provider rejects, and a new token repairs the cluster', async () => {
    const [oldToken, newToken] = ['a'.repeat(64), 'b'.repeat(64)];
    const connect = (token: string) =>
      team.admin.insist({ method: 'PUT', path: '/connections/spare/', body: { spec: { provider: 'hcloud', token } } });
    await system.garden.addProviderToken(oldToken);
    await connect(oldToken);
    await make('token', { connectionRef: 'spare' });
    await system.garden.rejectProviderToken(oldToken);

    const failed = await change(
      acme,
      'PUT',
      putPool('token', { maximum: 3 }).path,
      putPool('token', { maximum: 3 }).body,
    );

    expect(failed).toMatchObject({ state: 'failed', error: { code: 'provider_token_rejected', retryable: true } });
    const ill = await getCluster(acme, 'token');
    expect(conditionOf(ill, 'ConnectionReady')).toMatchObject({ status: 'False' });
    expect(JSON.stringify(ill)).not.toContain(oldToken);

    await system.garden.addProviderToken(newToken, oldToken);
    expect((await connect(newToken)).json.status).toMatchObject({ phase: 'Ready' });
    await untilCluster(
      acme,
      'token',
      'as declared',
      ({ metadata, status }) => metadata.observedGeneration === metadata.generation && status.phase === 'Ready',
    );
    await expectAsDeclared(system, acme, 'token');
    await waitFor('the change to succeed late', async () => (await acme.untilEnded(failed.id)).state === 'succeeded');
  });

  it('the change fails with an exhausted quota, and the same request works once the quota is raised', async () => {
    const fault = {
      operations: ['Create'],
      times: null,
      effect: { codes: ['ERR_INFRA_QUOTA_EXCEEDED'], message: 'server limit reached for project tenant-secret' },
    };
    await system.garden.addShootFaults(fault);

    const failed = await change(acme, 'PUT', '/clusters/quota/', aCluster(system));

    expect(failed).toMatchObject({ state: 'failed', error: { code: 'provider_quota_exceeded' } });
    expect(failed.error.hint).toMatch(/limit/);
    expect(JSON.stringify(await getCluster(acme, 'quota'))).not.toContain('tenant-secret');
    await system.garden.clearShootFaults();

    expect(await change(acme, 'PUT', '/clusters/quota/', aCluster(system))).toMatchObject(succeeded);
    await untilPhase(acme, 'quota', 'Ready');
    await expectAsDeclared(system, acme, 'quota');
    expect((await acme.insist({ method: 'POST', path: '/clusters/quota/retry/' })).status).toBe(200);
  });
});

describe('while the garden is', () => {
  const html = { body: '<html><body>Bad Gateway</body></html>', contentType: 'text/html' };
  beforeAll(() => make('patient'));

  it.each<[string, FaultRule['effect'], triesMin?: number]>([
    // One call is enough.
    ['slow', { delayMs: 1_200 }, 1],
    ['too slow', { delayMs: 5_000 }],
    ['limiting the rate of calls', { status: 429, retryAfter: 1 }],
    ['failing', { status: 500 }],
    ['failing after it carried out the request', { status: 500, perform: true }],
    ['behind a proxy that answers instead', { status: 502, ...html }],
    ['truncating its answers', { truncate: true }],
    ['dropping connections', { reset: 'before' }],
    ['dropping connections after it carried out the request', { reset: 'after' }],
    ['silent', { hang: true }],
  ])('%s, changes are accepted, and carried out once it works again', async (_case, effect, triesMin = 2) => {
    const before = (await getCluster(acme, 'patient')).spec.nodePools[0]?.maximum as number;
    await system.cloud.addFaults({ match: { api: 'garden', path: '/shoots/' }, times: null, effect });

    const put = await acme.send(putPool('patient', { maximum: (before % 5) + 1 }));

    expect(put.status).toBe(200);
    const id = operationIdOf(put) as string;
    await waitFor('the garden to be tried', async () => {
      const [fault] = (await system.cloud.admin<{ faults: { hits: number }[] }>('GET', '/faults')).faults;
      expect(fault?.hits).toBeGreaterThanOrEqual(triesMin);
      return true;
    });
    const meanwhile = await acme.send({ method: 'GET', path: `/operations/${id}/` });
    expect(['queued', 'running', 'succeeded']).toContain(meanwhile.json.state);
    await system.cloud.clearFaults();

    expect(await acme.untilEnded(id)).toMatchObject(succeeded);
    await expectAsDeclared(system, acme, 'patient');
  });
});

describe('the return of the garden', () => {
  const away: FaultRule = { match: { api: 'garden', path: '/shoots' }, times: null, effect: { reset: 'before' } };
  const names = ['early', 'middle', 'late', 'last'];

  /** They have failed so often that each would only try again in an hour. */
  async function untilLongWaiting(ids: readonly string[]): Promise<void> {
    await waitFor('all to wait for the garden', async () => {
      const { rows } = await system.pool.query(
        `UPDATE cluster SET due_at = clock_timestamp() + interval '1 hour', failures = 12
         WHERE id = ANY ($1) AND lease_until IS NULL AND waiting->>'reason' = 'GardenUnavailable' RETURNING id`,
        [ids],
      );
      const { rows: later } = await system.pool.query(
        `SELECT id FROM cluster WHERE id = ANY ($1) AND due_at > clock_timestamp() + interval '30 minutes'`,
        [ids],
      );
      if (later.length < ids.length) throw new Error(JSON.stringify({ rows, later }));
      return true;
    });
  }

  it('wakes all clusters that waited for it, spread over time', async () => {
    const clusters = await Promise.all(names.map((name) => make(name)));
    const ids = clusters.map(({ metadata }) => metadata.id);
    await system.cloud.addFaults(away);
    await system.garden.dropWatches();
    const puts = await Promise.all(names.map((name) => acme.insist(putPool(name, { maximum: 4 }))));
    await untilLongWaiting(ids);
    await recordRowChanges(system.pool, ['cluster']);

    await system.cloud.clearFaults();

    for (const put of puts) expect(await acme.untilEnded(operationIdOf(put) as string)).toMatchObject(succeeded);
    for (const name of names) await expectAsDeclared(system, acme, name);
    const changes = await readRowChanges(system.pool);
    // Other writers, such as the count of nodes, change the rows as well. A cluster's own retry would be an hour away.
    const isSoon = ({ row }: RowChange) => Date.parse(row.due_at) < Date.now() + 600_000;
    const woken = ids.map((id) => changes.find((change) => change.row.id === id && isSoon(change)) as RowChange);
    const dueAt = woken.map(({ row }) => Date.parse(row.due_at));
    expect(new Set(dueAt).size).toBe(ids.length);
    expect(Math.max(...dueAt) - Math.min(...dueAt)).toBeLessThan(3_000);
  }, 180_000);
});

describe('changes by other managers of the garden', () => {
  it('a change waits while the control plane is migrated, and is sent afterwards', async () => {
    const cluster = await make('moving');
    await system.garden.addShootFaults({ operations: ['Migrate'], effect: { stuck: true } });
    const before = await getShoot(system, cluster);
    await system.garden.migrate(before);
    await untilCluster(acme, 'moving', 'on the move', ({ status }) => status.migrationPhase === 'Migrating');

    const put = await acme.insist(putPool('moving', { maximum: 4 }));

    expect(put.status).toBe(200);
    const waiting = await untilCluster(
      acme,
      'moving',
      'waiting',
      (seen) => conditionOf(seen, 'Reconciled')?.reason === 'ControlPlaneMigrating',
    );
    expect(waiting.metadata.observedGeneration).toBeLessThan(waiting.metadata.generation);
    expect((await getShoot(system, cluster)).spec.provider.workers[0]?.maximum).toBe(2);

    await system.garden.clearShootFaults();
    expect(await acme.untilEnded(operationIdOf(put) as string)).toMatchObject(succeeded);
    const moved = await untilCluster(acme, 'moving', 'there', ({ status }) => status.migrationPhase === null);
    expect(moved.status.seedName).not.toBe(cluster.status.seedName);
    await expectAsDeclared(system, acme, 'moving');
  });

  it('a Shoot that disappeared is reported and never created again', async () => {
    const cluster = await make('lost');
    const shoot = await getShoot(system, cluster);
    await system.garden.vanish(shoot);

    const failed = await untilPhase(acme, 'lost', 'Failed');
    const put = await acme.insist(putPool('lost', { maximum: 5 }));

    expect(conditionOf(failed, 'ShootMissing')).toMatchObject({ status: 'True' });
    const ended = await acme.untilEnded(operationIdOf(put) as string);
    expect(ended).toMatchObject({ state: 'failed', error: { code: 'shoot_missing' } });
    expect(await findShoot(system, cluster)).toBeNull();
    expect((await system.garden.lives()).filter(({ name }) => name === shoot.metadata.name)).toHaveLength(1);
    expect(await change(acme, 'DELETE', '/clusters/lost/')).toMatchObject(succeeded);
    expect(await acme.findCluster('lost')).toBeNull();
  });

  it('undeclared fields keep the values of other managers', async () => {
    const cluster = await make('shared');
    const timeWindow = { begin: '010000+0000', end: '020000+0000' };
    await system.garden.edit(await getShoot(system, cluster), {
      metadata: { annotations: { 'example.org/note': 'kept' } },
      spec: { maintenance: { timeWindow } },
    });

    const put = putPool('shared', { maximum: 3 });
    expect(await change(acme, put.method, put.path, put.body)).toMatchObject(succeeded);

    const shoot = await getShoot(system, cluster);
    expect(shoot.spec).toMatchObject({ maintenance: { timeWindow } });
    expect(shoot.metadata.annotations).toMatchObject({ 'example.org/note': 'kept' });
    await expectAsDeclared(system, acme, 'shared');
  });

  it('a field that another manager took over is left alone and reported', async () => {
    const cluster = await make('contested');
    await system.garden.edit(await getShoot(system, cluster), { spec: { hibernation: { enabled: true } } });

    const found = await untilCluster(
      acme,
      'contested',
      'contested',
      (seen) => conditionOf(seen, 'Reconciled')?.reason === 'Drifted',
    );

    expect(conditionOf(found, 'Reconciled')?.message).toContain('hibernated is true instead of false (somebody-else)');
    expect((await getShoot(system, cluster)).spec.hibernation).toMatchObject({ enabled: true });
    expect(await change(acme, 'POST', '/clusters/contested/hibernate/')).toMatchObject(succeeded);
    expect(codeOf(await acme.insist({ method: 'POST', path: '/clusters/contested/kubeconfig/', body: {} }))).toBe(
      'cluster_not_ready',
    );
  });
});
