import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { aClient, aServer, aStatus, notes } from './a-garden.js';

beforeAll(() => nock.disableNetConnect());
afterEach(() => {
  expect(nock.pendingMocks()).toEqual([]);
  nock.cleanAll();
});
afterAll(() => nock.restore());

describe('ensuring a Project', () => {
  const declaration = { name: 't1234567', labels: { a: 'b' }, annotations: { c: 'd' }, description: 'Team acme' };
  const path = '/apis/core.gardener.cloud/v1beta1/projects/t1234567';
  const aProject = (spec: object, phase: string, metadata: object = {}) => ({ metadata, spec, status: { phase } });

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
    nock(aServer)
      .patch(path)
      .query(true)
      .times(2)
      .reply(200, aProject({ namespace: 'garden-t1234567-9f3' }, 'Ready'));
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
    nock(aServer)
      .patch(path)
      .query(true)
      .reply(200, aProject({ namespace: 'garden-x' }, 'Ready'));
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
    nock(aServer)
      .patch(path)
      .query(true)
      .reply(200, aProject({ namespace: 'garden-x' }, phase, metadata));

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

  it('are deleted in reverse order, and absent ones count as deleted', async () => {
    const { order, noting } = notes();
    const absent = (kind: string) => aStatus(404, 'NotFound', 'not found', { name: 'conn-1', kind });
    nock(aServer)
      .delete(bindingPath)
      .reply(404, noting('binding', absent('credentialsbindings')));
    nock(aServer)
      .delete(secretPath)
      .reply(404, noting('secret', absent('secrets')));

    expect(await aClient().client.deleteCredentials(named)).toBe('absent');

    expect(order).toEqual(['binding', 'secret']);
  });

  it.each([
    ['the Secret', 404, 200],
    ['the binding', 200, 404],
    ['both', 200, 200],
  ])('still exist while the garden has only begun to delete %s', async (_what, ofBinding, ofSecret) => {
    const answer = (status: number, kind: string) =>
      status === 200 ? {} : aStatus(404, 'NotFound', 'not found', { name: 'conn-1', kind });
    nock(aServer).delete(bindingPath).reply(ofBinding, answer(ofBinding, 'credentialsbindings'));
    nock(aServer).delete(secretPath).reply(ofSecret, answer(ofSecret, 'secrets'));

    expect(await aClient().client.deleteCredentials(named)).toBe('accepted');
  });

  it('keep their Secret if the binding could not be deleted', async () => {
    nock(aServer)
      .delete(bindingPath)
      .reply(500, aStatus(500, 'InternalError', 'no'));

    await expect(aClient().client.deleteCredentials(named)).rejects.toMatchObject({ kind: 'uncertain' });
  });
});

describe('the catalogue', () => {
  const path = '/apis/core.gardener.cloud/v1beta1/cloudprofiles/hcloud';

  it('is read from the CloudProfile', async () => {
    nock(aServer)
      .get(path)
      .reply(200, {
        metadata: { name: 'hcloud' },
        spec: {
          type: 'hcloud',
          kubernetes: { versions: [{ version: '1.34.3', classification: 'preview' }] },
          machineTypes: [{ name: 'cpx31', cpu: '4', memory: '8Gi' }],
          regions: [{ name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: ['cax11'] }] }],
        },
      });

    expect(await aClient().client.readCloudProfile()).toMatchObject({
      name: 'hcloud',
      kubernetesVersions: [{ version: '1.34.3', classification: 'preview', expirationDate: null }],
      machineTypes: [{ name: 'cpx31', cpu: '4', memory: '8Gi', architecture: 'amd64', usable: true }],
      regions: [{ name: 'hel1', zones: [{ name: 'hel1-dc2', unavailableMachineTypes: ['cax11'] }] }],
    });
  });

  it('is absent if the CloudProfile is', async () => {
    nock(aServer)
      .get(path)
      .reply(404, aStatus(404, 'NotFound', 'no', { name: 'hcloud', kind: 'cloudprofiles' }));

    await expect(aClient().client.readCloudProfile()).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('a ping', () => {
  const path = '/apis/core.gardener.cloud/v1beta1/cloudprofiles/hcloud';

  it('reads only metadata that every user may read', async () => {
    nock(aServer, { reqheaders: { accept: /^application\/json;as=PartialObjectMetadata;/ } })
      .get(path)
      .reply(200, { kind: 'PartialObjectMetadata', metadata: { name: 'hcloud' } });

    await aClient().client.ping();
  });

  it.each([
    ['another object', 200, { metadata: { name: 'aws' } }, 'unusable'],
    ['a page', 200, '<html>', 'unusable'],
    ['401', 401, aStatus(401, 'Unauthorized', 'Unauthorized'), 'credentials'],
  ])('fails on %s', async (_what, status, body, kind) => {
    nock(aServer).get(path).reply(status, body);

    await expect(aClient().client.ping()).rejects.toMatchObject({ kind });
  });
});
