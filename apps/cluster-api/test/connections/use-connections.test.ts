import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { givenCluster } from '../support/clusters.js';
import { type ConnectionApi, OTHER_TOKEN, spec, startConnectionApi } from '../support/connection-api.js';

let on: ConnectionApi;
beforeAll(async () => {
  on = await startConnectionApi();
});
afterAll(() => on.test.close());
beforeEach(() => on.reset());

describe('reading connections', () => {
  it('lists them by ref, inside the documented array', async () => {
    await on.put('b');
    on.provider.verdict = 'rejected';
    await on.put('a');

    const { body } = await on.test.api.as(on.team.member).get(on.path()).expect(200);
    const ready = await on.test.api.as(on.team.member).get(`${on.path()}?phase=Ready`).expect(200);

    const refsOf = (list: { items: { metadata: { ref: string } }[] }[]) =>
      list.map(({ items }) => items.map(({ metadata }) => metadata.ref));
    expect([refsOf(body), refsOf(ready.body)]).toEqual([[['a', 'b']], [['b']]]);
  });

  it('answers an empty list inside the array when there are none', async () => {
    const { body } = await on.test.api.as(on.team.member).get(on.path()).expect(200);

    expect(body).toEqual([{ items: [] }]);
  });

  it('refuses an unknown phase', async () => {
    await on.test.api.as(on.team.member).get(`${on.path()}?phase=ready`).expect(422);
  });

  it.each(['none'])('answers 404 to the ref %s', async (ref) => {
    await on.test.api.as(on.team.member).get(on.path(ref)).expect(404);
    await on.test.api.as(on.team.admin).delete(on.path(ref)).expect(404);
  });
});

describe('DELETE /connections/{ref}/', () => {
  it('deletes the connection and its token', async () => {
    await on.put('main');

    await on.test.api.as(on.team.admin).delete(on.path('main')).expect(204);

    await on.test.api.as(on.team.admin).get(on.path('main')).expect(404);
    expect((await on.auditOf()).map(({ action }) => action)).toEqual(['connection.create', 'connection.delete']);
  });

  it('schedules the removal of its credentials from the garden', async () => {
    await on.test.db.team.update({ where: { id: on.team.id }, data: { projectNamespace: 'garden-t1' } });
    await on.put('main');
    const { gardenName } = await on.rowOf('main');

    await on.test.api.as(on.team.admin).delete(on.path('main')).expect(204);

    const cleanups = await on.test.db.gardenCleanup.findMany({ where: { teamId: on.team.id } });
    expect(cleanups).toEqual([expect.objectContaining({ namespace: 'garden-t1', name: gardenName, failures: 0 })]);
  });

  it('schedules nothing when the team has no namespace on the garden', async () => {
    await on.put('main');

    await on.test.api.as(on.team.admin).delete(on.path('main')).expect(204);

    expect(await on.test.db.gardenCleanup.count({ where: { teamId: on.team.id } })).toBe(0);
  });

  it('schedules nothing when it is refused', async () => {
    await on.test.db.team.update({ where: { id: on.team.id }, data: { projectNamespace: 'garden-t2' } });
    await on.put('main');
    await givenCluster(on.test.db, { team: on.team, ref: 'main', name: 'web', startedAt: null });

    await on.test.api.as(on.team.admin).delete(on.path('main')).expect(409);

    expect(await on.test.db.gardenCleanup.count({ where: { teamId: on.team.id } })).toBe(0);
  });

  it('is refused with the names of clusters and servers that use it', async () => {
    const { body: connection } = await on.put('main');
    await givenCluster(on.test.db, { team: on.team, ref: 'main', name: 'web', startedAt: null });
    await on.test.db.adoptedServer.create({
      data: {
        teamId: on.team.id,
        connectionId: connection.metadata.id,
        serverId: BigInt(Date.now()),
        serverType: 'cpx31',
        location: 'hel1',
        architecture: 'amd64',
        serverKind: 'cloud',
      },
    });

    const { body } = await on.test.api.as(on.team.admin).delete(on.path('main')).expect(409);

    expect(body.code).toBe('connection_in_use');
    expect(body.detail).toMatch(/cluster web, server \d+/);
    await on.test.api.as(on.team.admin).get(on.path('main')).expect(200);
  });
});

describe('access to connections', () => {
  it('allows changes by administrators only', async () => {
    await on.put('main');
    const member = on.test.api.as(on.team.member);

    for (const refused of [
      member.put(on.path('main')).send({ spec: spec() }),
      member.post(on.path()).send({ spec: spec() }),
      member.delete(on.path('main')),
    ]) {
      expect((await refused.expect(403)).body.code).toBe('permission_denied');
    }
    expect(await on.auditOf()).toHaveLength(1);
  });

  it('separates teams that use the same ref', async () => {
    const other = await on.test.createTeam(`o-${randomUUID().slice(0, 8)}`);
    await on.put('main');
    await on.test.api.as(other.admin).get(other.path('/connections/main/')).expect(404);

    await on.test.api.as(other.admin).put(other.path('/connections/main/')).send({ spec: spec() }).expect(201);

    await on.test.api.as(other.admin).delete(other.path('/connections/main/')).expect(204);
    await on.test.api.as(on.team.admin).get(on.path('main')).expect(200);
  });
});

describe('POST /connections/{ref}/verify/', () => {
  const verify = (ref = 'main') => on.test.api.as(on.team.admin).post(on.path(ref).concat('verify/'));
  const operations = () => on.test.db.operation.findMany({ where: { teamId: on.team.id } });

  it('answers 202 with an operation and marks the verification as due', async () => {
    const { body: made } = await on.put('main').expect(201);

    const { body, headers } = await verify().expect(202);

    expect(body).toMatchObject({
      operation: { kind: 'connection.verify', state: 'queued', target: { kind: 'Connection', name: 'main' } },
      resource: { metadata: { id: made.metadata.id } },
    });
    expect(headers['operation-location']).toBe(body.operation.self);
    expect((await on.rowOf('main')).verifyAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await on.auditOf()).at(-1)).toMatchObject({ action: 'connection.verify', targetName: 'main' });
    const polled = await on.test.api
      .as(on.team.member)
      .get(on.team.path(`/operations/${body.operation.id}/`))
      .expect(200);
    expect(polled.body).toEqual(body.operation);
  });

  it('answers 200 with the same operation while a verification is open', async () => {
    await on.put('main').expect(201);
    const { operation } = (await verify().expect(202)).body;

    const { body, headers } = await verify().expect(200);

    expect(headers['operation-location']).toBe(operation.self);
    expect(body.kind).toBe('Connection');
    expect(await operations()).toHaveLength(1);
  });

  it('creates one operation per idempotency key', async () => {
    await on.put('main').expect(201);
    const { operation } = (await verify().set('Idempotency-Key', 'v1').expect(202)).body;
    await on.test.db.operation.updateMany({ data: { state: 'succeeded', progress: 100 }, where: { id: operation.id } });

    const again = await verify().set('Idempotency-Key', 'v1').expect(202);

    expect(again.body.operation).toMatchObject({ id: operation.id, state: 'succeeded' });
  });

  it('stays open and verifies the new token after a replacement', async () => {
    await on.put('main').expect(201);
    await verify().expect(202);

    await on.put('main', spec({ token: OTHER_TOKEN })).expect(200);

    expect((await on.rowOf('main')).verifyAt?.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await operations()).toMatchObject([{ state: 'queued' }]);
  });

  it('is cancelled when its connection is deleted', async () => {
    await on.put('main').expect(201);
    await verify().expect(202);

    await on.test.api.as(on.team.admin).delete(on.path('main')).expect(204);

    expect(await operations()).toMatchObject([{ state: 'cancelled' }]);
  });

  it('answers 404 for an unknown connection', async () => {
    await verify('none').expect(404);
    await verify('No!').expect(404);
  });
});

describe('the entity tag of a connection', () => {
  const get = () => on.test.api.as(on.team.member).get(on.path('main')).expect(200);
  const remove = () => on.test.api.as(on.team.admin).delete(on.path('main'));

  it('is in every answer and allows conditional reads', async () => {
    const made = await on.put('main').expect(201);
    const { headers, body } = await get();

    expect(headers.etag).toBe(body.metadata.etag);
    expect(made.headers.etag).toBe(headers.etag);
    await on.test.api
      .as(on.team.member)
      .get(on.path('main'))
      .set('If-None-Match', headers.etag as string)
      .expect(304);
  });

  it('matches the same declaration after the status has changed', async () => {
    const { etag } = (await on.put('main').expect(201)).headers;
    await on.test.db.connection.updateMany({
      where: { teamId: on.team.id },
      data: { phase: 'Rejected', message: 'no' },
    });
    expect((await get()).headers.etag).not.toBe(etag);

    await on
      .put('main', spec({ name: 'Another' }))
      .set('If-Match', etag as string)
      .expect(200);
  });

  it('refuses an outdated declaration with 412, before the provider is asked', async () => {
    const { etag } = (await on.put('main').expect(201)).headers;
    await on.put('main', spec({ name: 'Another' })).expect(200);
    on.provider.shown = [];

    const { body } = await on
      .put('main', spec({ name: 'Third' }))
      .set('If-Match', etag as string)
      .expect(412);
    await remove()
      .set('If-Match', etag as string)
      .expect(412);

    expect(body.code).toBe('precondition_failed');
    expect(on.provider.shown).toEqual([]);
    expect((await get()).body.metadata).toMatchObject({ name: 'Another', generation: 2 });
    await remove().set('If-Match', '*').expect(204);
  });

  it('with If-None-Match: * creates a connection but never changes one', async () => {
    await on.put('main').set('If-None-Match', '*').expect(201);

    await on
      .put('main', spec({ name: 'Another' }))
      .set('If-None-Match', '*')
      .expect(412);
  });
});

describe('the body of a GET', () => {
  it('can be sent back unchanged without an effect', async () => {
    await on.put('main').expect(201);
    const { body } = await on.test.api.as(on.team.admin).get(on.path('main')).expect(200);
    const row = await on.rowOf('main');

    const again = await on.test.api.as(on.team.admin).put(on.path('main')).send(body).expect(200);

    expect(again.body).toEqual(body);
    expect(await on.rowOf('main')).toEqual(row);
  });

  it('is refused at another ref', async () => {
    await on.put('main').expect(201);
    const { body } = await on.test.api.as(on.team.admin).get(on.path('main')).expect(200);

    const answer = await on.test.api.as(on.team.admin).put(on.path('other')).send(body).expect(422);

    expect(answer.body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/metadata/ref' }] });
  });
});
