import { waitFor } from '@corral/testing';
import type { GardenSettings, LocalCloudOptions } from '../../src/index.js';
import { startTestCloud, type TestCloud, TOKEN } from '../start-test-cloud.js';
import { aShoot, NAMESPACE, type ShootFields } from './a-shoot.js';
import { type GardenAnswer, type GardenClient, gardenClient } from './garden-client.js';

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind are picked apart by the tests
type AnyObject = any;

export interface TestGarden extends GardenClient {
  readonly cloud: TestCloud;
  /** Server-side apply of any object, by its kind and name. */
  apply(object: AnyObject, options?: { manager?: string; force?: boolean }): Promise<GardenAnswer>;
  create(shoot: AnyObject): Promise<GardenAnswer>;
  readShoot(name: string): Promise<AnyObject>;
  /** Merge patch of a Shoot. */
  patch(name: string, body: AnyObject): Promise<GardenAnswer>;
  /** A Shoot whose first flow has succeeded. */
  createReady(fields?: ShootFields): Promise<AnyObject>;
  waitForShoot(name: string, what: string, is: (shoot: AnyObject) => boolean): Promise<AnyObject>;
  stop(): Promise<void>;
}

export const SHOOTS = `/apis/core.gardener.cloud/v1beta1/namespaces/${NAMESPACE}/shoots`;

const collections: Readonly<Record<string, (namespace: string) => string>> = {
  Namespace: () => '/api/v1/namespaces',
  Secret: (namespace) => `/api/v1/namespaces/${namespace}/secrets`,
  Project: () => '/apis/core.gardener.cloud/v1beta1/projects',
  CredentialsBinding: (namespace) =>
    `/apis/security.gardener.cloud/v1alpha1/namespaces/${namespace}/credentialsbindings`,
  Shoot: (namespace) => `/apis/core.gardener.cloud/v1beta1/namespaces/${namespace}/shoots`,
};

/** Fast enough for tests, slow enough to observe intermediate states. */
const fast: Partial<GardenSettings> = { createMs: 40, reconcileMs: 40, hibernateMs: 40, wakeMs: 40, deleteMs: 40 };

/** A garden with the project `acme`, whose Secret and CredentialsBinding `conn` hold a valid token. */
export async function startTestGarden(
  garden: Partial<GardenSettings> = {},
  options: Partial<LocalCloudOptions> = {},
): Promise<TestGarden> {
  const cloud = await startTestCloud({ garden: { ...fast, ...garden }, ...options });
  const client = gardenClient(cloud.gardenKubeconfig);
  const apply: TestGarden['apply'] = (object, { manager = 'test', force = false } = {}) => {
    const { name, namespace = '' } = object.metadata;
    const query = `fieldManager=${manager}&force=${force}`;
    const path = `${collections[object.kind]?.(namespace)}/${name}?${query}`;
    return client.call('PATCH', path, object, 'application/apply-patch+yaml');
  };
  const readShoot = async (name: string) => (await client.call('GET', `${SHOOTS}/${name}`)).body;
  const create = (shoot: AnyObject) => client.call('POST', SHOOTS, shoot);
  const waitForShoot: TestGarden['waitForShoot'] = (name, what, is) =>
    waitFor(`${name} to be ${what}`, async () => {
      const shoot = await readShoot(name);
      if (is(shoot)) return shoot;
      throw new Error(JSON.stringify(shoot.status));
    });

  await apply(aProject('acme'));
  await waitFor('the namespace of the project', async () => {
    return (await client.call('GET', `/api/v1/namespaces/${NAMESPACE}`)).status === 200;
  });
  await apply(aSecret('conn', TOKEN));
  await apply(aBinding('conn'));
  await waitFor('the Secret to be known as credentials', async () => {
    const { body } = await client.call('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/conn`);
    return body.metadata.finalizers !== undefined;
  });
  return {
    ...client,
    cloud,
    apply,
    create,
    readShoot,
    patch: (name, body) => client.call('PATCH', `${SHOOTS}/${name}`, body, 'application/merge-patch+json'),
    waitForShoot,
    async createReady(fields = {}) {
      const shoot = aShoot(fields);
      const { status, text } = await apply(shoot);
      if (status !== 201) throw new Error(text);
      return waitForShoot(shoot.metadata.name, 'healthy', isHealthy);
    },
    async stop() {
      client.close();
      await cloud.close();
    },
  };
}

/** No flow is running, and the health check after the last flow has run. */
export const isHealthy = ({ metadata, status }: AnyObject): boolean =>
  status.conditions?.every((condition: AnyObject) => condition.status === 'True') &&
  status.lastOperation?.state === 'Succeeded' &&
  status.observedGeneration === metadata.generation;

export const hasState =
  (state: string, type?: string) =>
  ({ status }: AnyObject): boolean =>
    status.lastOperation?.state === state && (type === undefined || status.lastOperation.type === type);

export const aProject = (name: string, namespace: string | undefined = `garden-${name}`) => ({
  apiVersion: 'core.gardener.cloud/v1beta1',
  kind: 'Project',
  metadata: { name },
  spec: namespace === undefined ? {} : { namespace },
});

export const aSecret = (name: string, token: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: NAMESPACE },
  data: { hcloudToken: Buffer.from(token).toString('base64') },
});

export const aBinding = (name: string) => ({
  apiVersion: 'security.gardener.cloud/v1alpha1',
  kind: 'CredentialsBinding',
  metadata: { name, namespace: NAMESPACE },
  provider: { type: 'hcloud' },
  credentialsRef: { apiVersion: 'v1', kind: 'Secret', name, namespace: NAMESPACE },
});
