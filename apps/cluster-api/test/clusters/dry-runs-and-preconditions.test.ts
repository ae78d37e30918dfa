import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ClusterTest, freshName, startWithConnection } from '../support/clusters.js';

let t: ClusterTest;
let name: string;
const path = () => t.acme.path(`/clusters/${name}/`);
const put = (spec: object, query = '') => t.api.as(t.acme.member).put(`${path()}${query}`).send({ spec });

beforeAll(async () => {
  t = await startWithConnection();
});
afterAll(() => t.close());
beforeEach(() => {
  name = freshName(t);
});

describe('dry runs of a cluster PUT', () => {
  it('answer a new cluster and its cost, and write nothing', async () => {
    const before = await t.clusters.everything();

    const { body } = await put(aClusterSpec(), '?dryRun=true').expect(200);

    expect(body).toMatchObject({
      dryRun: true,
      resource: { metadata: { name, generation: 1 }, status: { phase: 'Pending' } },
      cost: { items: [{ name: 'general', minimum: 1, maximum: 3 }] },
    });
    expect(body.changes.map(({ pointer }: { pointer: string }) => pointer)).toContain('/spec/nodePools/0');
    expect(await t.clusters.everything()).toEqual(before);
    expect(t.wakeups).toEqual([]);
  });

  it('list the changed fields of an existing cluster', async () => {
    await t.clusters.running(name);

    const { body } = await put(aClusterSpec({ nodePools: [aPool({ maximum: 5 })] }), '?dryRun=true').expect(200);

    expect(body.changes).toEqual([{ pointer: '/spec/nodePools/0/maximum', from: 3, to: 5 }]);
    expect(body.resource).toMatchObject({ metadata: { generation: 2 }, status: { phase: 'Updating' } });
    expect((await t.api.as(t.acme.member).get(path())).body.metadata.generation).toBe(1);
  });

  it('list no changes when nothing would change', async () => {
    await t.clusters.declare(name);

    expect((await put(aClusterSpec(), '?dryRun=true').expect(200)).body.changes).toEqual([]);
  });

  it('are refused like the change itself', async () => {
    const { body } = await put(aClusterSpec({ region: 'ash' }), '?dryRun=true').expect(422);

    expect(body.code).toBe('validation_failed');
  });
});

describe('conditional requests to a cluster', () => {
  const tagOf = async () => (await t.api.as(t.acme.member).get(path())).headers.etag as string;

  it('succeed with the current tag or *', async () => {
    await t.clusters.declare(name);

    await put(aClusterSpec({ plan: 'monthly' }))
      .set('If-Match', await tagOf())
      .expect(202);
    await put(aClusterSpec({ plan: 'annual' }))
      .set('If-Match', `"other", ${await tagOf()}`)
      .expect(202);
    await put(aClusterSpec()).set('If-Match', '*').expect(202);
  });

  it('answer 412 for an outdated tag and write nothing', async () => {
    await t.clusters.declare(name);
    const old = await tagOf();
    await put(aClusterSpec({ plan: 'monthly' })).expect(202);
    const before = await t.clusters.everything();

    const { body } = await put(aClusterSpec({ plan: 'annual' }))
      .set('If-Match', old)
      .expect(412);

    expect(body.code).toBe('precondition_failed');
    expect(await t.clusters.everything()).toEqual(before);
  });

  it('succeed after only the status has changed', async () => {
    await t.clusters.declare(name);
    const old = await tagOf();
    await t.clusters.converge(name);
    expect(await tagOf()).not.toBe(old);

    await put(aClusterSpec({ plan: 'annual' }))
      .set('If-Match', old)
      .expect(202);
  });

  it('answer 412 for If-Match: * when there is no cluster', async () => {
    await put(aClusterSpec()).set('If-Match', '*').expect(412);
  });

  it('with If-None-Match: * create but never change', async () => {
    await put(aClusterSpec()).set('If-None-Match', '*').expect(202);

    await put(aClusterSpec({ plan: 'annual' }))
      .set('If-None-Match', '*')
      .expect(412);
  });
});
