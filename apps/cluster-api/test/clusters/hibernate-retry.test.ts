import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aClusterSpec } from '../support/a-cluster.js';
import { addConnection, type ClusterTest, freshName, startWithConnection } from '../support/clusters.js';

let t: ClusterTest;
let name: string;
const post = (what: 'hibernate' | 'resume' | 'retry') =>
  t.api.as(t.acme.member).post(t.acme.path(`/clusters/${name}/${what}/`));

beforeAll(async () => {
  t = await startWithConnection();
});
afterAll(() => t.close());
beforeEach(() => {
  name = freshName(t);
});

describe.each([
  { what: 'hibernate', before: false },
  { what: 'resume', before: true },
] as const)('POST /clusters/{name}/$what/', ({ what, before }) => {
  it('changes only hibernated: 202 with the operation to poll', async () => {
    await t.clusters.running(name, { hibernated: before });

    const { body, headers } = await post(what).expect(202);

    expect(body).toMatchObject({
      operation: { kind: `cluster.${what}`, state: 'queued' },
      resource: { metadata: { generation: 2 }, spec: aClusterSpec({ hibernated: !before }) },
    });
    expect(headers['operation-location']).toBe(body.operation.self);
    expect(headers.etag).toBe(body.resource.metadata.etag);
    expect(t.wakeups).toContainEqual({ job: 'reconcile-cluster', payload: { clusterId: body.resource.metadata.id } });
    const entry = await t.db.auditEntry.findFirst({ where: { targetName: name, action: `cluster.${what}` } });
    expect(entry).toMatchObject({
      detail: { operationId: body.operation.id },
      changes: [{ pointer: '/spec/hibernated', from: before, to: !before }],
    });
  });

  it('refuses a body, of which its sender expects something, and writes nothing', async () => {
    await t.clusters.running(name, { hibernated: before });
    const written = await t.clusters.everything();

    const { body } = await post(what).send({ dryRun: true }).expect(422);

    expect([body.code, body.errors[0].pointer]).toEqual(['validation_failed', '']);
    expect(await t.clusters.everything()).toEqual(written);
    await post(what).send({}).expect(202);
  });

  it('answers 200 and writes nothing when nothing changes', async () => {
    await t.clusters.running(name, { hibernated: !before });
    const written = await t.clusters.everything();

    const { body, headers } = await post(what).expect(200);

    expect(body.spec.hibernated).toBe(!before);
    expect(headers['operation-location']).toBeUndefined();
    expect(await t.clusters.everything()).toEqual(written);
  });

  it('answers 200 with the running operation when it is repeated, and writes nothing', async () => {
    await t.clusters.running(name, { hibernated: before });
    const { operation } = (await post(what).expect(202)).body;
    const written = await t.clusters.everything();

    const { body, headers } = await post(what).expect(200);

    expect(headers['operation-location']).toBe(operation.self);
    expect(body.status.lastOperation).toMatchObject({ id: operation.id, kind: `cluster.${what}`, state: 'queued' });
    expect(await t.clusters.everything()).toEqual(written);
  });

  it('is retried when it is repeated after a failure', async () => {
    await t.clusters.running(name, { hibernated: before });
    const first = (await post(what).expect(202)).body.operation;
    await t.clusters.endOperations(name, 'failed');

    const { body } = await post(what).expect(202);

    expect(body.operation).toMatchObject({ kind: `cluster.${what}`, state: 'queued' });
    expect(body.operation.id).not.toBe(first.id);
    expect(body.resource.metadata.generation).toBe(3);
  });

  it('of a draft is stored for its start', async () => {
    await t.clusters.declare(name, { nodePools: [], hibernated: before });

    const { body } = await post(what).expect(202);

    expect(body.operation).toMatchObject({ kind: `cluster.${what}`, state: 'succeeded', progress: 100 });
    expect(body.resource).toMatchObject({ spec: { hibernated: !before }, status: { phase: 'Draft' } });
    expect(t.wakeups).toEqual([]);
  });

  it('answers 404 for an unknown cluster', async () => {
    await post(what).expect(404);
  });

  it('answers 409 while the cluster is being deleted', async () => {
    await t.clusters.running(name, { hibernated: before });
    const deletion = await t.api.as(t.acme.member).delete(t.acme.path(`/clusters/${name}/`));

    const operationId = deletion.body.operation.id;
    expect((await post(what).expect(409)).body).toMatchObject({ code: 'cluster_deleting', operationId });
  });

  it('answers 409 over a rejected connection', async () => {
    const ref = `rejected-${what}`;
    await addConnection(t, t.acme, { ref });
    await t.clusters.running(name, { hibernated: before, connectionRef: ref });
    await t.db.connection.updateMany({ where: { ref }, data: { phase: 'Rejected' } });

    expect((await post(what).expect(409)).body.code).toBe('connection_rejected');
  });

  it('answers 412 for an outdated tag', async () => {
    await t.clusters.running(name, { hibernated: before });

    expect((await post(what).set('If-Match', '"old"').expect(412)).body.code).toBe('precondition_failed');
  });

  it('takes effect once per idempotency key, whatever changed in between', async () => {
    await t.clusters.running(name, { hibernated: before });
    const key = `${what}-${name}`;
    const first = (await post(what).set('Idempotency-Key', key).expect(202)).body;
    await post(what === 'hibernate' ? 'resume' : 'hibernate').expect(202);

    const again = (await post(what).set('Idempotency-Key', key).expect(202)).body;

    expect(again.operation).toMatchObject({ id: first.operation.id, state: 'superseded' });
    expect(again.resource.spec.hibernated).toBe(before);
  });

  it('with the key of a request without effect has no effect again', async () => {
    await t.clusters.running(name, { hibernated: !before });
    const key = `idle-${what}-${name}`;
    await post(what).set('Idempotency-Key', key).expect(200);
    await post(what === 'hibernate' ? 'resume' : 'hibernate').expect(202);

    await post(what).set('Idempotency-Key', key).expect(200);
  });

  it('refuses the key of another request', async () => {
    await t.clusters.running(name, { hibernated: before });
    const key = `reused-${what}-${name}`;
    await post(what).set('Idempotency-Key', key).expect(202);

    const other = await post('retry').set('Idempotency-Key', key).expect(422);

    expect(other.body.code).toBe('idempotency_key_reused');
  });
});

describe('POST /clusters/{name}/retry/', () => {
  it('accepts the same specification again after its operation failed', async () => {
    const { operation } = await t.clusters.declare(name);
    await t.clusters.converge(name);
    await t.api
      .as(t.acme.member)
      .put(t.acme.path(`/clusters/${name}/`))
      .send({ spec: aClusterSpec({ plan: 'annual' }) });
    await t.clusters.endOperations(name, 'failed');
    t.wakeups.length = 0;

    const { body } = await post('retry').expect(202);

    expect(body).toMatchObject({
      operation: { kind: 'cluster.update', state: 'queued' },
      resource: { metadata: { generation: 3 }, spec: aClusterSpec({ plan: 'annual' }) },
    });
    expect(body.operation.desiredHash).not.toBe(operation.desiredHash);
    expect(await t.clusters.operationsOf(name)).toEqual([
      'cluster.create succeeded',
      'cluster.update failed',
      'cluster.update queued',
    ]);
    expect(t.wakeups).toHaveLength(1);
  });

  it('answers 200 and writes nothing while the operation runs, and after it succeeded', async () => {
    await t.clusters.declare(name);
    const written = await t.clusters.everything();
    await post('retry').expect(200);
    expect(await t.clusters.everything()).toEqual(written);

    await t.clusters.converge(name);
    await post('retry').expect(200);
  });

  it('has no effect on a draft', async () => {
    await t.clusters.declareDraft(name);

    await post('retry').expect(200);
  });

  it('creates one operation per idempotency key', async () => {
    await t.clusters.running(name);
    await post('hibernate').expect(202);
    await t.clusters.endOperations(name, 'failed');

    const first = (await post('retry').set('Idempotency-Key', `r-${name}`).expect(202)).body;
    await t.clusters.endOperations(name, 'failed');
    const again = (await post('retry').set('Idempotency-Key', `r-${name}`).expect(202)).body;

    expect(again.operation).toMatchObject({ id: first.operation.id, state: 'failed' });
    expect(again.operation.error).toMatchObject({ code: 'provider_capacity', retryable: true });
  });

  it('answers 404, 409 and 412 like other changes', async () => {
    await post('retry').expect(404);
    await t.clusters.running(name);
    await post('retry').set('If-Match', '"old"').expect(412);
    await t.api
      .as(t.acme.member)
      .delete(t.acme.path(`/clusters/${name}/`))
      .expect(202);
    expect((await post('retry').expect(409)).body.code).toBe('cluster_deleting');
  });

  it('answers 409 over a rejected connection', async () => {
    await addConnection(t, t.acme, { ref: 'rejected-retry' });
    await t.clusters.running(name, { connectionRef: 'rejected-retry' });
    await post('hibernate').expect(202);
    await t.clusters.endOperations(name, 'failed');
    await t.db.connection.updateMany({ where: { ref: 'rejected-retry' }, data: { phase: 'Rejected' } });

    expect((await post('retry').expect(409)).body.code).toBe('connection_rejected');
  });
});
