import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { aClient, aServer, aShoot, aShootName, aStatus, aToken, notes } from './a-garden.js';

const path = '/apis/core.gardener.cloud/v1beta1/namespaces/garden-t1234567/shoots/c1234567';
const notFound = aStatus(404, 'NotFound', 'shoots.core.gardener.cloud "c1234567" not found', {
  name: 'c1234567',
  group: 'core.gardener.cloud',
  kind: 'shoots',
});
const uidMismatch = aStatus(
  409,
  'Conflict',
  'Precondition failed: UID in precondition: uid-1, UID in object meta: uid-2',
  {
    name: 'c1234567',
    kind: 'shoots',
  },
);

beforeAll(() => nock.disableNetConnect());
afterEach(() => {
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
});
afterAll(() => nock.restore());

describe('reading a Shoot', () => {
  it('returns all fields, with defaults and field managers', async () => {
    nock(aServer, { reqheaders: { authorization: `Bearer ${aToken}`, accept: 'application/json' } })
      .get(path)
      .reply(
        200,
        aShoot({ status: { lastOperation: { type: 'Create', state: 'Processing', progress: 40 }, unknown: 1 } }),
      );

    const shoot = await aClient().client.readShoot(aShootName);

    expect(shoot).toEqual({
      managers: [{ manager: 'corral', operation: 'Apply', time: '2026-08-01T10:00:00Z', fields: {} }],
      metadata: {
        ...aShootName,
        uid: 'uid-1',
        resourceVersion: '101',
        generation: 3,
        creationTimestamp: '2026-08-01T10:00:00Z',
        deletionTimestamp: null,
        labels: { 'corral.dev/cluster': 'c-1' },
        annotations: {},
        finalizers: ['gardener'],
      },
      spec: { region: 'hel1' },
      status: {
        observedGeneration: 3,
        technicalID: null,
        uid: null,
        seedName: null,
        clusterIdentity: null,
        hibernated: false,
        lastOperation: { type: 'Create', state: 'Processing', progress: 40, description: '', lastUpdateTime: null },
        lastErrors: [],
        lastMaintenance: null,
        authorityRotation: null,
        conditions: [],
        constraints: [],
        advertisedAddresses: [],
        retryCycleStartTime: null,
        migrationStartTime: null,
      },
    });
  });

  it('returns null when the garden says that this Shoot is absent', async () => {
    nock(aServer).get(path).reply(404, notFound);

    expect(await aClient().client.readShoot(aShootName)).toBeNull();
  });

  it.each([
    ['knows no Shoots', aStatus(404, 'NotFound', 'the server could not find the requested resource')],
    ['is something else', '404 page not found'],
  ])('never returns null when the server %s: a missing API is not a missing cluster', async (_what, body) => {
    nock(aServer).get(path).reply(404, body);

    await expect(aClient().client.readShoot(aShootName)).rejects.toMatchObject({ kind: 'unusable', status: 404 });
  });

  it('is retried at most twice while the garden fails', async () => {
    nock(aServer)
      .get(path)
      .times(2)
      .reply(503, aStatus(503, 'ServiceUnavailable', 'no'));
    nock(aServer).get(path).reply(200, aShoot());
    const { client, calls } = aClient();

    expect(await client.readShoot(aShootName)).not.toBeNull();
    expect(calls.map(({ outcome }) => outcome)).toEqual(['server_error', 'server_error', 'ok']);

    nock(aServer).get(path).times(3).reply(500, 'oops');

    await expect(client.readShoot(aShootName)).rejects.toMatchObject({ kind: 'server_error' });
  });

  it.each(['', '.', '..'])('throws TypeError for the name %j, which would address something else', async (name) => {
    await expect(aClient().client.readShoot({ ...aShootName, name })).rejects.toThrow(TypeError);
  });

  it('encodes any other name as one path segment', async () => {
    const odd = '../x?y#z %2e';
    nock(aServer)
      .get(`/apis/core.gardener.cloud/v1beta1/namespaces/garden-t1234567/shoots/${encodeURIComponent(odd)}`)
      .reply(404, notFound);

    expect(await aClient().client.readShoot({ ...aShootName, name: odd })).toBeNull();
  });
});

describe('applying a Shoot', () => {
  const manifest = { metadata: { ...aShootName, labels: { a: 'b' } }, spec: { region: 'hel1' } };

  it('is a server-side apply with our field manager, never forced', async () => {
    const { client } = aClient();
    nock(aServer, { reqheaders: { 'content-type': 'application/apply-patch+yaml' } })
      .patch(path, {
        apiVersion: 'core.gardener.cloud/v1beta1',
        kind: 'Shoot',
        metadata: { ...aShootName, labels: { a: 'b' } },
        spec: { region: 'hel1' },
      })
      .query({ fieldManager: 'corral', force: 'false' })
      .reply(201, aShoot({ metadata: { generation: 1 } }));

    const applied = await client.applyShoot(manifest);

    expect(applied).toMatchObject({ created: true, shoot: { metadata: { generation: 1 } } });
  });

  it('reports that it created nothing if the Shoot existed', async () => {
    nock(aServer).patch(path).query(true).reply(200, aShoot());

    expect((await aClient().client.applyShoot(manifest)).created).toBe(false);
  });

  it.each([
    [
      'the time of our last effective apply',
      [
        { manager: 'corral', operation: 'Update', time: '2026-08-01T12:00:00Z' },
        { manager: 'other', operation: 'Apply', time: '2026-08-01T13:00:00Z' },
        { manager: 'corral', operation: 'Apply', time: '2026-08-01T10:00:00Z' },
      ],
      '2026-08-01T10:00:00.000Z',
    ],
    ['the time of the answer when the garden returns no field managers', [], '2026-08-01T11:00:00.000Z'],
  ])('reports %s, by the clock of the garden', async (_what, managedFields, time) => {
    nock(aServer)
      .patch(path)
      .query(true)
      .reply(200, aShoot({ metadata: { managedFields } }), { Date: 'Sat, 01 Aug 2026 11:00:00 GMT' });

    expect((await aClient().client.applyShoot(manifest)).appliedAt?.toISOString()).toBe(time);
  });

  it.each<[string, number, object, object]>([
    ['refused', 422, aStatus(422, 'Invalid', 'Shoot "x" is invalid: no'), { sentences: ['no'] }],
    [
      'conflict',
      409,
      aStatus(409, 'Conflict', 'Apply failed with 1 conflict', {
        causes: [
          { reason: 'FieldManagerConflict', field: '.spec.region', message: 'conflict with "kubectl" using v1' },
        ],
      }),
      { causes: [{ field: '.spec.region', manager: 'kubectl' }], uidMismatch: false },
    ],
    ['throttled', 429, aStatus(429, 'TooManyRequests', 'no', { retryAfterSeconds: 4 }), { retryAfterSeconds: 4 }],
    ['uncertain', 504, aStatus(504, 'Timeout', 'no'), {}],
    ['stale_reference', 500, aStatus(500, 'InternalError', 'could not find referenced credentials binding: x'), {}],
  ])('that fails as %s is sent once', async (kind, status, body, details) => {
    nock(aServer).patch(path).query(true).reply(status, body);
    const { client, calls } = aClient();

    await expect(client.applyShoot(manifest)).rejects.toMatchObject({ name: 'GardenError', kind, status, ...details });
    expect(calls).toEqual([{ verb: 'apply', resource: 'shoots', outcome: kind, seconds: expect.any(Number) }]);
  });
});

describe('annotating a Shoot', () => {
  const annotations = { 'gardener.cloud/operation': 'reconcile', other: null };

  it('is a merge patch of metadata only, bound to the uid of the Shoot', async () => {
    nock(aServer, { reqheaders: { 'content-type': 'application/merge-patch+json' } })
      .patch(path, { metadata: { uid: 'uid-1', annotations } })
      .query({ fieldManager: 'corral' })
      .reply(200, aShoot({ metadata: { generation: 4 } }));

    const shoot = await aClient().client.annotateShoot({ ...aShootName, uid: 'uid-1', annotations });

    expect(shoot.metadata.generation).toBe(4);
  });

  it('is bound to the version that was read if the caller requests it', async () => {
    nock(aServer)
      .patch(path, { metadata: { uid: 'uid-1', resourceVersion: '7', annotations } })
      .query(true)
      .reply(409, { ...uidMismatch, message: 'the object has been modified; please apply your changes' });

    const annotated = aClient().client.annotateShoot({
      ...aShootName,
      uid: 'uid-1',
      resourceVersion: '7',
      annotations,
    });

    await expect(annotated).rejects.toMatchObject({ kind: 'conflict', uidMismatch: false });
  });

  it('reports that the name now belongs to another Shoot', async () => {
    nock(aServer).patch(path).query(true).reply(409, uidMismatch);

    await expect(aClient().client.annotateShoot({ ...aShootName, uid: 'uid-1', annotations })).rejects.toMatchObject({
      kind: 'conflict',
      uidMismatch: true,
    });
  });

  it('reports that there is none', async () => {
    nock(aServer).patch(path).query(true).reply(404, notFound);

    await expect(aClient().client.annotateShoot({ ...aShootName, uid: 'uid-1', annotations })).rejects.toMatchObject({
      kind: 'not_found',
    });
  });
});

describe('deleting a Shoot', () => {
  const identity = { ...aShootName, uid: 'uid-1' };
  const confirmation = { metadata: { uid: 'uid-1', annotations: { 'confirmation.gardener.cloud/deletion': 'true' } } };

  it('confirms the deletion and then deletes by uid', async () => {
    const { order, noting } = notes();
    nock(aServer).patch(path, confirmation).query(true).reply(200, noting('patch', aShoot()));
    nock(aServer)
      .delete(path, { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'uid-1' } })
      .reply(200, noting('delete', aShoot({ metadata: { deletionTimestamp: '2026-08-01T10:00:00Z' } })));

    expect(await aClient().client.deleteShoot(identity)).toBe('accepted');
    expect(order).toEqual(['patch', 'delete']);
  });

  it('is complete when the Shoot is absent, before or after the confirmation', async () => {
    nock(aServer).patch(path).query(true).reply(404, notFound);
    expect(await aClient().client.deleteShoot(identity)).toBe('absent');

    nock(aServer).patch(path).query(true).reply(200, aShoot());
    nock(aServer).delete(path).reply(404, notFound);
    expect(await aClient().client.deleteShoot(identity)).toBe('absent');
  });

  it('does not touch a later Shoot with that name', async () => {
    nock(aServer).patch(path).query(true).reply(409, uidMismatch);

    await expect(aClient().client.deleteShoot(identity)).rejects.toMatchObject({ kind: 'conflict', uidMismatch: true });
  });

  it('does not treat an API that is not served as a deletion', async () => {
    nock(aServer).patch(path).query(true).reply(404, '404 page not found');

    await expect(aClient().client.deleteShoot(identity)).rejects.toMatchObject({ kind: 'unusable' });
  });
});

describe('listing Shoots', () => {
  const listPath = '/apis/core.gardener.cloud/v1beta1/shoots';

  it('reads all namespaces by label, page by page', async () => {
    nock(aServer)
      .get(listPath)
      .query({ labelSelector: 'a in (b,c)', limit: '500' })
      .reply(200, { metadata: { resourceVersion: '7', continue: 'to be continued/=' }, items: [aShoot()] });
    nock(aServer)
      .get(listPath)
      .query({ labelSelector: 'a in (b,c)', limit: '2', continue: 'to be continued/=' })
      .reply(200, { metadata: { resourceVersion: '7' }, items: [] });
    const { client } = aClient();

    const first = await client.listShoots({ labelSelector: 'a in (b,c)' });
    const second = await client.listShoots({ labelSelector: 'a in (b,c)', limit: 2, continue: first.continue });

    expect(first).toMatchObject({
      resourceVersion: '7',
      continue: 'to be continued/=',
      shoots: [{ metadata: { uid: 'uid-1' } }],
    });
    expect(second).toEqual({ shoots: [], resourceVersion: '7', continue: null });
  });

  it.each([
    ['has no version', { metadata: {}, items: [] }],
    ['has no items', { metadata: { resourceVersion: '7' } }],
    ['has something else for items', { metadata: { resourceVersion: '7' }, items: {} }],
    ['has an element that is no object', { metadata: { resourceVersion: '7' }, items: [1] }],
    ['is cut off', '{"metadata": {"resourceVersion": "7"}, "items": ['],
    ['has an element without metadata', { metadata: { resourceVersion: '7' }, items: [aShoot(), { spec: {} }] }],
    ['is one object', aShoot()],
  ])('is unusable when the answer %s, because missing items would count as deleted', async (_what, body) => {
    nock(aServer).get(listPath).query(true).reply(200, body);

    await expect(aClient().client.listShoots({ labelSelector: 'a' })).rejects.toMatchObject({ kind: 'unusable' });
  });

  it('accepts null as an empty list, as Go encodes it', async () => {
    nock(aServer)
      .get(listPath)
      .query(true)
      .reply(200, { metadata: { resourceVersion: '7' }, items: null });

    expect(await aClient().client.listShoots({ labelSelector: 'a' })).toMatchObject({
      shoots: [],
      resourceVersion: '7',
    });
  });

  it('is retried when the garden fails', async () => {
    nock(aServer).get(listPath).query(true).reply(503, 'no');
    nock(aServer)
      .get(listPath)
      .query(true)
      .reply(200, { metadata: { resourceVersion: '7' }, items: [aShoot()] });

    expect((await aClient().client.listShoots({ labelSelector: 'a' })).shoots).toHaveLength(1);
  });

  it('reports that the next page has expired', async () => {
    nock(aServer)
      .get(listPath)
      .query(true)
      .reply(410, aStatus(410, 'Expired', 'too old', {}, { continue: 'newer' }));

    await expect(aClient().client.listShoots({ labelSelector: 'a', continue: 'old' })).rejects.toMatchObject({
      kind: 'expired',
      continueToken: 'newer',
    });
  });
});

describe('a 403 about missing rights', () => {
  const forbidden = (user: string) =>
    aStatus(
      403,
      'Forbidden',
      `shoots.core.gardener.cloud "c" is forbidden: User "${user}" cannot get resource "shoots"`,
    );

  it.each([
    ['a garden that is ready', 'corral', 200, 'rbac'],
    ['a garden that loads rights', 'corral', 500, 'server_error'],
    ['a garden that forbids readiness checks', 'corral', 403, 'server_error'],
  ])('of %s is classified as such', async (_, user, readyz, kind) => {
    nock(aServer)
      .get(path)
      .times(kind === 'rbac' ? 1 : 3)
      .reply(403, forbidden(user));
    nock(aServer)
      .get('/readyz')
      .times(kind === 'rbac' ? 1 : 3)
      .reply(readyz, 'said');

    await expect(aClient().client.readShoot(aShootName)).rejects.toMatchObject({ kind });
  });

  it('of a garden that rejects every credential is expected during its start', async () => {
    nock(aServer).get(path).times(3).reply(403, forbidden('system:anonymous'));

    await expect(aClient().client.readShoot(aShootName)).rejects.toMatchObject({ kind: 'server_error' });
  });
});
