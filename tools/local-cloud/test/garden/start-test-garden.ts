import { waitFor } from '@corral/testing';
import type { GardenSettings, LocalCloudOptions } from '../../src/index.js';
import { startTestCloud, type TestCloud, TOKEN } from '../start-test-cloud.js';
import { type KubeAnswer, type KubeClient, kubeClient } from './kube-client.js';
import { aBinding, aProject, aSecret, aShoot, NAMESPACE, type ShootFields } from './objects.js';

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind are picked apart by the tests
type AnyObject = any;

export interface TestGarden extends KubeClient {
  readonly cloud: TestCloud;
  /** Server-side apply of any object, by its kind and name. */
  apply(object: AnyObject): Promise<KubeAnswer>;
  readShoot(name: string): Promise<AnyObject>;
  /** Merge patch of a Shoot. */
  patch(name: string, body: AnyObject): Promise<KubeAnswer>;
  /** A Shoot whose first flow has succeeded. */
  createReady(fields?: ShootFields): Promise<AnyObject>;
  waitForShoot(name: string, what: string, is: (shoot: AnyObject) => boolean): Promise<AnyObject>;
  /** A client of the API server of a Shoot. */
  shootClient(name: string, access?: 'admin' | 'viewer'): Promise<KubeClient>;
  stop(): Promise<void>;
}

const NAMESPACED = `namespaces/${NAMESPACE}`;
export const SHOOTS = `/apis/core.gardener.cloud/v1beta1/${NAMESPACED}/shoots`;
const SECRETS = `/api/v1/${NAMESPACED}/secrets`;

const collections: Readonly<Record<string, string>> = {
  Secret: SECRETS,
  Project: '/apis/core.gardener.cloud/v1beta1/projects',
  CredentialsBinding: `/apis/security.gardener.cloud/v1alpha1/${NAMESPACED}/credentialsbindings`,
  Shoot: SHOOTS,
};

/** Fast enough for tests, slow enough to observe intermediate states. */
const fast: Partial<GardenSettings> = { createMs: 40, reconcileMs: 40, deleteMs: 40 };

/** A garden with the project `acme`, whose Secret and CredentialsBinding `conn` hold a valid token. */
export async function startTestGarden(
  garden: Partial<GardenSettings> = {},
  options: Partial<LocalCloudOptions> = {},
): Promise<TestGarden> {
  const cloud = await startTestCloud({ garden: { ...fast, ...garden }, ...options });
  const client = kubeClient(cloud.gardenKubeconfig);
  const apply: TestGarden['apply'] = (object) => {
    const path = `${collections[object.kind]}/${object.metadata.name}?fieldManager=test&force=false`;
    return client.call('PATCH', path, object, 'application/apply-patch+yaml');
  };
  const readShoot = async (name: string) => (await client.call('GET', `${SHOOTS}/${name}`)).body;
  const waitForShoot: TestGarden['waitForShoot'] = (name, what, is) =>
    waitFor(`${name} to be ${what}`, async () => {
      const shoot = await readShoot(name);
      if (is(shoot)) return shoot;
      throw new Error(JSON.stringify(shoot.status));
    });

  await apply(aProject('acme'));
  await waitFor('the namespace of the project', async () => (await apply(aSecret('conn', TOKEN))).status < 300);
  await apply(aBinding('conn'));
  await waitFor('the Secret to be known as credentials', async () => {
    const { body } = await client.call('GET', `${SECRETS}/conn`);
    return body.metadata.finalizers !== undefined;
  });
  return {
    ...client,
    cloud,
    apply,
    readShoot,
    waitForShoot,
    patch: (name, body) => client.call('PATCH', `${SHOOTS}/${name}`, body),
    async createReady(fields = {}) {
      const shoot = aShoot(fields);
      const { status, text } = await apply(shoot);
      if (status !== 201) throw new Error(text);
      return waitForShoot(shoot.metadata.name, 'healthy', isHealthy);
    },
    async shootClient(name, access = 'admin') {
      const { body } = await client.call('POST', `${SHOOTS}/${name}/${access}kubeconfig`, {});
      return kubeClient(Buffer.from(body.status.kubeconfig, 'base64').toString());
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
