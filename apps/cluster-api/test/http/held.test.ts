import { clusterRoutes } from '@corral/contracts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isRefusedWhileHeld } from '../../src/http/refuse-while-held.js';
import { aClusterSpec } from '../support/a-cluster.js';
import { type ClusterTest, startWithConnection } from '../support/clusters.js';

let t: ClusterTest;
beforeAll(async () => {
  t = await startWithConnection();
});
afterAll(() => t.close());
beforeEach(() => t.db.installationHold.create({ data: { reason: 'requested' } }));
afterEach(() => t.db.installationHold.deleteMany());

const declare = (name: string) =>
  t.api
    .as(t.acme.member)
    .put(t.acme.path(`/clusters/${name}/`))
    .send({ spec: aClusterSpec() });

describe('during a hold', () => {
  it('refuses changes with 503 and Retry-After, and changes nothing', async () => {
    const before = await t.db.cluster.count();

    const answer = await declare('refused').expect(503);

    expect(answer.body).toMatchObject({ detail: expect.stringContaining('stopped changes') });
    expect(answer.headers['retry-after']).toBe('60');
    expect(await t.db.cluster.count()).toBe(before);
  });

  it('answers reads and dry runs, and refuses strangers as before', async () => {
    const path = `${t.acme.path('/clusters/planned/')}?dryRun=true`;
    await t.api.as(t.acme.member).put(path).send({ spec: aClusterSpec() }).expect(200);
    await t.api.as(t.acme.member).get(t.acme.path('/clusters/')).expect(200);
    await t.api.as(t.globex.member).put(t.acme.path('/clusters/held/')).send({}).expect(404);
  });

  it('refuses every change except of sessions', () => {
    const served = clusterRoutes.filter((route) => route.method !== 'get' && !isRefusedWhileHeld(route));
    expect(served.map(({ operationId }) => operationId).sort()).toEqual([
      'authorize',
      'devSignIn',
      'exchangeToken',
      'signOut',
      'signOutEverywhere',
      'startDnsSession',
    ]);
  });

  it('accepts the change when the hold has ended', async () => {
    await declare('later').expect(503);
    await t.db.installationHold.updateMany({ data: { endedAt: new Date() } });

    await declare('later').expect(202);
  });
});
