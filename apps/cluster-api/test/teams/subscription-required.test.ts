import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { addConnection, beginFirstPass, declare, declareDraft } from '../support/clusters.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi({ config: { subscriptionRequired: true } });
  await addConnection(test, test.acme);
});
afterAll(() => test.close());

const member = () => test.api.as(test.acme.member);
const put = (name: string, query = '') =>
  member()
    .put(test.acme.path(`/clusters/${name}/${query}`))
    .send({ spec: aClusterSpec() });
const putPool = (cluster: string, name: string) =>
  member()
    .put(test.acme.path(`/clusters/${cluster}/node-pools/${name}/`))
    .send({ spec: aPool({ name }) });
const setActive = (isActive: boolean) => {
  const columns = { isActive, body: {}, statedAt: new Date() };
  const teamId = test.acme.id;
  return test.db.subscription.upsert({ where: { teamId }, create: { teamId, ...columns }, update: columns });
};

describe('where a subscription is required', () => {
  it('a team without one can declare drafts but not start them', async () => {
    await test.db.subscription.deleteMany();
    await declareDraft(test, test.acme, 'draft');

    const refused = [
      await put('web'),
      await put('web', '?dryRun=true'),
      await put('draft'),
      await putPool('draft', 'general'),
    ];

    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      refused.map(() => [403, 'subscription_required']),
    );
    const where = { name: { in: ['web', 'draft'] } };
    expect(await test.db.cluster.findMany({ where, select: { name: true, phase: true } })).toEqual([
      { name: 'draft', phase: 'Draft' },
    ]);
  });

  it('a lapse does not restrict changes, hibernation and resumption of started clusters', async () => {
    await setActive(true);
    for (const name of ['runs', 'pending']) await declare(test, test.acme, name);
    await beginFirstPass(test, test.acme, 'runs');

    await setActive(false);

    for (const name of ['runs', 'pending']) {
      await putPool(name, 'batch').expect(201);
      await member()
        .post(test.acme.path(`/clusters/${name}/hibernate/`))
        .expect(202);
      await member()
        .post(test.acme.path(`/clusters/${name}/resume/`))
        .expect(202);
    }
    expect((await put('another')).body.code).toBe('subscription_required');
  });
});
