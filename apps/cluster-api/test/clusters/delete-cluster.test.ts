import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../support/a-cluster.js';
import { type ClusterTest, freshName, startWithConnection } from '../support/clusters.js';

describe('DELETE /clusters/{name}/', () => {
  let t: ClusterTest;
  let name: string;
  const remove = (query = '') => t.api.as(t.acme.member).delete(`${t.acme.path(`/clusters/${name}/`)}${query}`);
  const rows = () => t.db.cluster.count({ where: { teamId: t.acme.id, name } });

  beforeAll(async () => {
    t = await startWithConnection();
  });
  afterAll(() => t.close());
  beforeEach(() => {
    name = freshName(t);
  });

  it('removes a draft immediately: 204', async () => {
    await t.clusters.declareDraft(name);

    const answer = await remove().expect(204);

    expect(answer.text).toBe('');
    expect(await rows()).toBe(0);
  });

  it('removes a cluster before its first pass and cancels its operations', async () => {
    await t.clusters.declare(name);

    await remove().expect(204);

    expect(await rows()).toBe(0);
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create cancelled']);
    const entry = await t.db.auditEntry.findFirst({ where: { targetName: name, action: 'cluster.delete' } });
    expect(entry).toMatchObject({
      userId: t.acme.member.id,
      changes: [{ pointer: '/spec', from: expect.objectContaining({ region: aClusterSpec().region }), to: null }],
    });
  });

  it('answers 202 for a started cluster, with the operation to poll and the phase Deleting', async () => {
    await t.clusters.declare(name);
    await t.clusters.beginFirstPass(name);
    t.wakeups.length = 0;

    const { body, headers } = await remove().expect(202);

    expect(body).toMatchObject({
      operation: { kind: 'cluster.delete', state: 'queued', target: { name } },
      resource: { metadata: { generation: 2 }, status: { phase: 'Deleting' } },
    });
    expect(headers['operation-location']).toBe(body.operation.self);
    expect(await t.clusters.operationsOf(name)).toEqual(['cluster.create superseded', 'cluster.delete queued']);
    const stored = await t.db.cluster.findFirstOrThrow({ where: { name } });
    expect(stored.deletionRequestedAt).not.toBeNull();
    expect(stored.dueAt).not.toBeNull();
    expect(t.wakeups).toEqual([{ job: 'reconcile-cluster', payload: { clusterId: stored.id } }]);
  });

  it('answers the same operation when it is repeated, also with the previous tag', async () => {
    await t.clusters.running(name);
    const { etag } = (await t.api.as(t.acme.member).get(t.acme.path(`/clusters/${name}/`))).headers;
    const first = (
      await remove()
        .set('If-Match', etag as string)
        .expect(202)
    ).body;

    const again = (
      await remove()
        .set('If-Match', etag as string)
        .expect(202)
    ).body;

    expect(again.operation.id).toBe(first.operation.id);
    expect(again.resource.metadata.generation).toBe(first.resource.metadata.generation);
  });

  it('creates a new operation after a failed deletion', async () => {
    await t.clusters.running(name);
    const first = (await remove().expect(202)).body;
    await t.clusters.endOperations(name, 'failed');

    const again = (await remove().expect(202)).body;

    expect(again.operation).toMatchObject({ kind: 'cluster.delete', state: 'queued' });
    expect(again.operation.id).not.toBe(first.operation.id);
    expect(again.resource.metadata.generation).toBe(first.resource.metadata.generation + 1);
  });

  it('answers 404 for an unknown cluster', async () => {
    expect((await remove().expect(404)).body.code).toBe('not_found');
  });

  it('answers 412 for an outdated tag and writes nothing', async () => {
    await t.clusters.running(name);
    const before = await t.clusters.everything();

    const { body } = await remove().set('If-Match', '"old"').expect(412);

    expect(body.code).toBe('precondition_failed');
    expect(await t.clusters.everything()).toEqual(before);
  });

  it('keeps the operations of a deleted cluster', async () => {
    const { operation } = await t.clusters.declare(name);
    await remove().expect(204);

    const { body } = await t.api
      .as(t.acme.member)
      .get(t.acme.path(`/operations/${operation.id}/`))
      .expect(200);

    expect(body).toMatchObject({ state: 'cancelled', target: { name } });
  });

  it('as a dry run lists what would be deleted and writes nothing', async () => {
    await t.clusters.running(name, { nodePools: [aPool({ minimum: 2, maximum: 2 }), aPool({ name: 'burst' })] });
    const before = await t.clusters.everything();

    const { body } = await remove('?dryRun=true').expect(200);

    expect(body.resource.metadata.name).toBe(name);
    expect(body.deletes.map(({ kind, name: of, count }: Record<string, unknown>) => [kind, of, count])).toEqual([
      ['Node', 'general', 2],
      ['Node', 'burst', null],
      ['Volume', null, null],
      ['LoadBalancer', null, null],
    ]);
    expect(body.effects).toMatchObject([
      { target: 'cluster', kind: 'deleted', kubernetesVersion: { after: null } },
      { pool: 'general', kind: 'removed', nodes: { before: { minimum: 2, maximum: 2 }, after: null } },
      { pool: 'burst', kind: 'removed', nodes: { before: { minimum: 1, maximum: 3 }, after: null } },
    ]);
    expect(await t.clusters.everything()).toEqual(before);
  });
});
