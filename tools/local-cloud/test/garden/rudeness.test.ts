import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { accounts } from '../../src/index.js';
import { aShoot, aWorker, NAMESPACE } from './a-shoot.js';
import { type GardenClient, gardenClient } from './garden-client.js';
import { aSecret, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
let reconciler: GardenClient;
let clusterApi: GardenClient;
beforeAll(async () => {
  garden = await startTestGarden();
  reconciler = gardenClient(garden.cloud.gardenKubeconfigs.reconciler);
  clusterApi = gardenClient(garden.cloud.gardenKubeconfigs['cluster-api']);
});
afterAll(async () => {
  reconciler.close();
  clusterApi.close();
  await garden.stop();
});

const admin = (method: string, path: string, body?: unknown) => garden.cloud.callAdmin(method, `/garden${path}`, body);
const change = (settings: object) => admin('PATCH', '/settings', settings);

describe('service account', () => {
  const manifests = new URL('../../../../infra/garden/', import.meta.url);
  const rolesOf = (file: string) =>
    parseAllDocuments(readFileSync(new URL(file, manifests), 'utf8')).map((document) => document.toJS());

  it.each(['cluster-api', 'reconciler'] as const)('has the rights that its manifest grants: %s', (account) => {
    const [serviceAccount, role, binding] = rolesOf(`${account}.yaml`);

    expect(role).toMatchObject({ kind: 'ClusterRole', rules: accounts[account].rules });
    const { name, namespace } = serviceAccount.metadata;
    expect(`system:serviceaccount:${namespace}:${name}`).toBe(accounts[account].userName);
    expect(binding).toMatchObject({
      kind: 'ClusterRoleBinding',
      roleRef: { kind: 'ClusterRole', name: role.metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    });
  });

  it('is one of those that the manifests create', () => {
    const files = readdirSync(manifests).filter((file) => file.endsWith('.yaml'));

    expect(files.sort()).toEqual(['cluster-api.yaml', 'reconciler.yaml']);
  });

  it('gets the 403 of a real API server for a missing right', async () => {
    const { status, body } = await clusterApi.call('DELETE', `${SHOOTS}/any`);

    expect(status).toBe(403);
    expect(body).toMatchObject({
      reason: 'Forbidden',
      message: `shoots.core.gardener.cloud "any" is forbidden: User "system:serviceaccount:garden:corral-cluster-api" cannot delete resource "shoots" in API group "core.gardener.cloud" in the namespace "${NAMESPACE}"`,
    });
  });

  it('needs the right to create for an apply that creates something', async () => {
    const path = `${SHOOTS}/made-by-apply?fieldManager=corral`;
    const apply = () =>
      reconciler.call('PATCH', path, aShoot({ name: 'made-by-apply' }), 'application/apply-patch+yaml');
    const verbs = ['get', 'patch'];
    const { setRights } = garden.cloud.admin.garden;
    setRights('reconciler', [{ apiGroups: ['core.gardener.cloud'], resources: ['shoots'], verbs }]);

    const refused = await apply();
    setRights('reconciler', null);
    const made = await apply();

    expect([refused.status, made.status]).toEqual([403, 201]);
    expect(refused.body.message).toContain('cannot create resource "shoots"');
  });
});

describe('a starting garden', () => {
  afterEach(() => change({ startUp: 'over' }));

  it('rejects every token', async () => {
    await change({ startUp: 'anonymous' });

    const { status, body } = await garden.call('GET', `${SHOOTS}/any`);

    expect([status, body.message]).toEqual([
      403,
      `shoots.core.gardener.cloud "any" is forbidden: User "system:anonymous" cannot get resource "shoots" in API group "core.gardener.cloud" in the namespace "${NAMESPACE}"`,
    ]);
    expect((await garden.call('GET', '/readyz')).body.message).toContain('User "system:anonymous" cannot get path');
  });

  it('denies every right, and reports that it is not ready', async () => {
    await change({ startUp: 'rights' });

    const { status, body } = await reconciler.call('GET', `${SHOOTS}/any`);
    const readyz = await reconciler.call('GET', '/readyz');
    await change({ startUp: 'over' });

    expect([status, body.message]).toEqual([403, expect.stringContaining('corral-reconciler" cannot get resource')]);
    expect([readyz.status, readyz.text]).toEqual([500, expect.stringContaining('readyz check failed')]);
    expect((await reconciler.call('GET', '/readyz')).status).toBe(200);
  });
});

describe('a quota', () => {
  afterEach(() => change({ shootsMax: null, secretsMax: null }));

  it('refuses one more Shoot with the message of Kubernetes, and no change of an existing one', async () => {
    await garden.createReady({ name: 'inside' });
    const { length } = garden.cloud.admin.garden.contents().shoots;
    await change({ shootsMax: length });

    const beyond = await garden.apply(aShoot({ name: 'beyond' }));
    const inside = await garden.patch('inside', { spec: { purpose: 'testing' } });

    const counted = 'count/shoots.core.gardener.cloud';
    expect([beyond.status, inside.status]).toEqual([403, 200]);
    expect(beyond.body.message).toBe(
      `shoots.core.gardener.cloud "beyond" is forbidden: exceeded quota: gardener, requested: ${counted}=1, used: ${counted}=${length}, limited: ${counted}=${length}`,
    );
  });

  it('refuses one more Secret', async () => {
    await change({ secretsMax: 1 });

    const { status, body } = await garden.apply(aSecret('beyond', 'x'.repeat(64)));

    expect([status, body.message]).toEqual([403, expect.stringContaining('exceeded quota: gardener')]);
  });
});

describe('a Shoot', () => {
  it('has generation 2 when it gets its seed, before any run', async () => {
    await garden.apply(aShoot({ name: 'bound' }));

    const { metadata, status } = await garden.waitForShoot('bound', 'bound', ({ spec }) => spec.seedName !== undefined);

    expect(metadata.generation).toBe(2);
    expect(status.observedGeneration ?? 0).toBeLessThanOrEqual(2);
  });

  it.each([
    ['merge', 'application/merge-patch+json', { metadata: { uid: 'x' } }],
    [
      'apply',
      'application/apply-patch+yaml',
      { ...aShoot({ name: 'unique' }), metadata: { name: 'unique', uid: 'x' } },
    ],
  ])('refuses a %s patch with another uid with 422', async (_, type, patch) => {
    await garden.apply(aShoot({ name: 'unique' }));

    const { status, body } = await garden.call('PATCH', `${SHOOTS}/unique?fieldManager=other`, patch, type);

    expect(status).toBe(422);
    expect(body.details.causes).toEqual([
      { reason: 'FieldValueInvalid', field: 'metadata.uid', message: 'Invalid value: "x": field is immutable' },
    ]);
  });

  it('refuses a field that the garden does not know, with the message of the type converter', async () => {
    await change({ undeclaredFields: ['spec.purpose'] });

    const { status, body } = await garden.apply(aShoot({ name: 'newer', spec: { purpose: 'testing' } }));
    await change({ undeclaredFields: [] });

    expect([status, body.message]).toEqual([
      500,
      `failed to create typed patch object (${NAMESPACE}/newer; core.gardener.cloud/v1beta1, Kind=Shoot): .spec.purpose: field not declared in schema`,
    ]);
  });

  it('whose managers were removed belongs to the manager before-first-apply', async () => {
    await garden.createReady({ name: 'restored' });
    await admin('DELETE', `/shoots/${NAMESPACE}/restored/managers`);

    const { status, body } = await garden.apply(aShoot({ name: 'restored', workers: [aWorker({ maximum: 7 })] }));

    expect(status).toBe(409);
    expect(body.details.causes).toEqual([
      expect.objectContaining({
        field: '.spec.provider.workers[name="pool-a"].maximum',
        message: expect.stringContaining('conflict with "before-first-apply"'),
      }),
    ]);
  });
});
