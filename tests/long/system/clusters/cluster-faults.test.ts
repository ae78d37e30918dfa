import type { Cluster } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { operationIdOf, type TeamClient } from '../../../support/clusters/client.js';
import {
  aCluster,
  aPool,
  change,
  conditionOf,
  expectAsDeclared,
  getCluster,
  untilCluster,
  untilPhase,
} from '../../../support/clusters/journey.js';
import {
  type ClusterSystem,
  type ClusterTeam,
  shortTimeouts,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';
import type { FaultRule } from '../../../support/system/local-cloud.js';

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
  beforeAll(() => make('patient'));

  it.each<[string, FaultRule['effect'], triesMin?: number]>([
    // One call is enough.
    ['slow', { delayMs: 1_200 }, 1],
    ['failing after it carried out the request', { status: 500, perform: true }],
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
