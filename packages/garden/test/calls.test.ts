import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { aClient, aServer, aShoot, aShootName, aStatus, aToken, notes } from './a-garden.js';

beforeAll(() => nock.disableNetConnect());
afterEach(() => {
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
});
afterAll(() => nock.restore());

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
  { name: 'c1234567', kind: 'shoots' },
);

describe('reading a Shoot', () => {
  it('returns its fields, with defaults and field managers', async () => {
    nock(aServer, { reqheaders: { authorization: `Bearer ${aToken}`, accept: 'application/json' } })
      .get(path)
      .reply(
        200,
        aShoot({ status: { lastOperation: { type: 'Create', state: 'Processing', progress: 40 }, unknown: 1 } }),
      );

    const shoot = await aClient().client.readShoot(aShootName);

    expect(shoot).toMatchObject({
      managers: [{ manager: 'corral', operation: 'Apply', time: '2026-08-01T10:00:00Z' }],
      metadata: { ...aShootName, uid: 'uid-1', resourceVersion: '101', generation: 3, deletionTimestamp: null },
      spec: { region: 'hel1' },
      status: { lastOperation: { type: 'Create', state: 'Processing', progress: 40, description: '' } },
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

  it.each(['', '.', '..'])('throws TypeError for the name %j, which would address something else', async (name) => {
    await expect(aClient().client.readShoot({ ...aShootName, name })).rejects.toThrow(TypeError);
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
    ['uncertain', 504, aStatus(504, 'Timeout', 'no'), {}],
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

describe('projects and catalogue', () => {
  describe('ensuring a Project', () => {
    const declaration = { name: 't1234567', labels: { a: 'b' }, annotations: { c: 'd' }, description: 'Team acme' };
    const path = '/apis/core.gardener.cloud/v1beta1/projects/t1234567';
    const aProject = (spec: object, phase: string, metadata: object = {}) => ({ metadata, spec, status: { phase } });
    const answering = (project: object, times = 1) =>
      nock(aServer).patch(path).query(true).times(times).reply(200, project);

    it('applies it and returns no namespace and no readiness before the garden states them', async () => {
      nock(aServer, { reqheaders: { 'content-type': 'application/apply-patch+yaml' } })
        .patch(path, {
          apiVersion: 'core.gardener.cloud/v1beta1',
          kind: 'Project',
          metadata: { name: 't1234567', labels: { a: 'b' }, annotations: { c: 'd' } },
          spec: { description: 'Team acme' },
        })
        .query({ fieldManager: 'corral', force: 'true' })
        .reply(201, aProject({}, 'Pending'));

      expect(await aClient().client.ensureProject(declaration)).toEqual({ namespace: null, ready: false });
    });

    it('returns the namespace that the garden chose, and marks it once as not stale', async () => {
      answering(aProject({ namespace: 'garden-t1234567-9f3' }, 'Ready'), 2);
      nock(aServer, { reqheaders: { 'content-type': 'application/merge-patch+json' } })
        .patch('/api/v1/namespaces/garden-t1234567-9f3', {
          metadata: { annotations: { 'project.gardener.cloud/skip-stale-check': 'true' } },
        })
        .query({ fieldManager: 'corral' })
        .reply(200, {});
      const { client } = aClient();

      const first = await client.ensureProject(declaration);
      const second = await client.ensureProject(declaration);

      expect([first, second]).toEqual(Array(2).fill({ namespace: 'garden-t1234567-9f3', ready: true }));
    });

    it('continues with a warning when the right on namespaces is missing', async () => {
      nock(aServer).get('/readyz').reply(200, 'ok');
      answering(aProject({ namespace: 'garden-x' }, 'Ready'));
      nock(aServer)
        .patch('/api/v1/namespaces/garden-x')
        .query(true)
        .reply(403, aStatus(403, 'Forbidden', 'namespaces "garden-x" is forbidden: User "u" cannot patch resource'));
      const { client, logged } = aClient();

      expect(await client.ensureProject(declaration)).toEqual({ namespace: 'garden-x', ready: true });
      expect(logged.join()).toContain('garden may remove a project as stale');
    });

    it.each([
      ['Failed', {}],
      ['Terminating', {}],
      ['Ready', { deletionTimestamp: '2026-08-01T10:00:00Z' }],
    ])('is not ready in phase %s with %j', async (phase, metadata) => {
      answering(aProject({ namespace: 'garden-x' }, phase, metadata));

      expect(await aClient().client.ensureProject(declaration)).toEqual({ namespace: 'garden-x', ready: false });
    });
  });

  describe('provider credentials', () => {
    const named = { namespace: 'garden-x', name: 'conn-1' };
    const secretPath = '/api/v1/namespaces/garden-x/secrets/conn-1';
    const bindingPath = '/apis/security.gardener.cloud/v1alpha1/namespaces/garden-x/credentialsbindings/conn-1';

    it('are created as a Secret and then a binding to it', async () => {
      const { order, noting } = notes();
      const labels = { 'corral.dev/connection': '1' };
      nock(aServer)
        .patch(secretPath, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { ...named, labels },
          type: 'Opaque',
          data: { hcloudToken: Buffer.from('provider-token').toString('base64') },
        })
        .query({ fieldManager: 'corral', force: 'false' })
        .reply(201, noting('secret', {}));
      nock(aServer)
        .patch(bindingPath, {
          apiVersion: 'security.gardener.cloud/v1alpha1',
          kind: 'CredentialsBinding',
          metadata: { ...named, labels },
          provider: { type: 'hcloud' },
          credentialsRef: { apiVersion: 'v1', kind: 'Secret', ...named },
        })
        .query({ fieldManager: 'corral', force: 'false' })
        .reply(201, noting('binding', {}));

      await aClient().client.applyCredentials({ ...named, token: 'provider-token', labels });

      expect(order).toEqual(['secret', 'binding']);
    });

    it('keep their Secret if the binding could not be deleted', async () => {
      nock(aServer)
        .delete(bindingPath)
        .reply(500, aStatus(500, 'InternalError', 'no'));

      await expect(aClient().client.deleteCredentials(named)).rejects.toMatchObject({ kind: 'uncertain' });
    });

    it.each([
      ['absent when the garden has neither', 404, 404, 'absent'],
      ['there while it has only begun to delete the Secret', 404, 200, 'accepted'],
      ['there while it has only begun to delete the binding', 200, 404, 'accepted'],
      ['there while it has only begun to delete both', 200, 200, 'accepted'],
    ])('are deleted in reverse order, and %s', async (_what, ofBinding, ofSecret, outcome) => {
      const { order, noting } = notes();
      const answer = (status: number, kind: string) =>
        status === 200 ? {} : aStatus(404, 'NotFound', 'not found', { name: 'conn-1', kind });
      nock(aServer)
        .delete(bindingPath)
        .reply(ofBinding, noting('binding', answer(ofBinding, 'credentialsbindings')));
      nock(aServer)
        .delete(secretPath)
        .reply(ofSecret, noting('secret', answer(ofSecret, 'secrets')));

      expect(await aClient().client.deleteCredentials(named)).toBe(outcome);
      expect(order).toEqual(['binding', 'secret']);
    });
  });

  describe('the catalogue', () => {
    const path = '/apis/core.gardener.cloud/v1beta1/cloudprofiles/hcloud';

    it('is read from the CloudProfile', async () => {
      nock(aServer)
        .get(path)
        .reply(200, {
          metadata: { name: 'hcloud' },
          spec: { type: 'hcloud', machineTypes: [{ name: 'cpx31', cpu: '4', memory: '8Gi' }] },
        });

      expect(await aClient().client.readCloudProfile()).toMatchObject({
        name: 'hcloud',
        machineTypes: [{ name: 'cpx31', cpu: '4', memory: '8Gi', architecture: 'amd64', usable: true }],
      });
    });
  });

  describe('a ping', () => {
    const path = '/apis/core.gardener.cloud/v1beta1/cloudprofiles/hcloud';

    it.each([
      ['another object', 200, { metadata: { name: 'aws' } }, 'unusable'],
      ['a page', 200, '<html>', 'unusable'],
      ['401', 401, aStatus(401, 'Unauthorized', 'Unauthorized'), 'credentials'],
    ])('fails on %s', async (_what, status, body, kind) => {
      nock(aServer).get(path).reply(status, body);

      await expect(aClient().client.ping()).rejects.toMatchObject({ kind });
    });
  });
});

describe('a kubeconfig', () => {
  const path = '/apis/core.gardener.cloud/v1beta1/namespaces/garden-t1234567/shoots/c1234567';

  const kubeconfig = 'apiVersion: v1\nkind: Config\nclusters: []\n';
  const expirationTimestamp = '2026-08-01T11:00:00Z';
  const request = { ...aShootName, expirationSeconds: 3_600 };

  it('is decoded and has the expiry that the garden granted', async () => {
    nock(aServer, { reqheaders: { 'content-type': 'application/json' } })
      .post(`${path}/adminkubeconfig`, {
        apiVersion: 'authentication.gardener.cloud/v1alpha1',
        kind: 'AdminKubeconfigRequest',
        spec: { expirationSeconds: 3_600 },
      })
      .reply(201, { status: { kubeconfig: Buffer.from(kubeconfig).toString('base64'), expirationTimestamp } });

    expect(await aClient().client.adminKubeconfig(request)).toEqual({
      kubeconfig,
      expiresAt: new Date(expirationTimestamp),
    });
  });

  it.each([
    ['no status', {}],
    ['no expiry', { status: { kubeconfig: Buffer.from(kubeconfig).toString('base64') } }],
    ['something else', { status: { kubeconfig: Buffer.from('hello').toString('base64'), expirationTimestamp } }],
    ['nothing', { status: { kubeconfig: '', expirationTimestamp } }],
  ])('is unusable when the answer contains %s', async (_what, body) => {
    nock(aServer).post(`${path}/adminkubeconfig`).reply(201, body);

    await expect(aClient().client.adminKubeconfig(request)).rejects.toMatchObject({ kind: 'unusable' });
  });
});
