import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type { ServerOptions } from '../../src/index.js';
import { TOKEN } from '../start-test-cloud.js';
import type { KubeClient } from './kube-client.js';
import { aShoot, aToken, type JoinConfigChange, NAMESPACE, renderJoinConfig } from './objects.js';
import { isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

const SECRETS = '/api/v1/namespaces/kube-system/secrets';

// biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
type Part = any;

let garden: TestGarden;
let shoot: KubeClient;
let secretName: string;
beforeAll(async () => {
  garden = await startTestGarden({ joinMs: 20 }, { actionMs: 20 });
  await garden.createReady({ name: 'web' });
  shoot = await garden.shootClient('web');
  secretName = (await shoot.call('GET', SECRETS)).body.items[0].metadata.name;
  await shoot.call('POST', SECRETS, aToken());
});
afterAll(async () => {
  shoot.close();
  await garden.stop();
});

const kubeconfigOf = async (name: string) => {
  const { body } = await garden.call('POST', `${SHOOTS}/${name}/adminkubeconfig`, {
    spec: { expirationSeconds: 3_600 },
  });
  return Buffer.from(body.status.kubeconfig, 'base64').toString('utf8');
};
const load = (kubeconfig: string) => {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config;
};
const nodesOf = async (kubeconfig: string) => (await load(kubeconfig).makeApiClient(CoreV1Api).listNode()).items;

it('a Shoot that was at work when its garden ended is finished after a restart, and its nodes are there', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-garden-'));
  const first = await startTestGarden({ createMs: 2_000 }, { dataDir });
  await first.apply(aShoot({ name: 'late' }));
  const { metadata } = await first.waitForShoot('late', 'at work', ({ status }) => status.lastOperation?.progress > 0);
  await first.stop();

  const second = await startTestGarden({}, { dataDir });
  const shootThen = await second.waitForShoot('late', 'healthy', isHealthy);

  expect(shootThen.metadata.uid).toBe(metadata.uid);
  expect(second.cloud.admin.garden.nodes(NAMESPACE, 'late')).not.toEqual([]);
  await second.stop();
  rmSync(dataDir, { recursive: true });
});

it('a flow that is to be stuck goes on, whether its fault is cleared before or after it stops', async () => {
  const { garden: admin } = garden.cloud.admin;
  for (const [name, isClearable] of [
    ['early', ({ status }: Part) => status.lastOperation !== undefined],
    ['stopped', ({ status }: Part) => status.lastOperation?.progress >= 34],
  ] as const) {
    admin.addShootFaults({ effect: { stuck: true } });
    await garden.apply(aShoot({ name }));
    await garden.waitForShoot(name, 'at work', isClearable);
    admin.clearShootFaults();

    await garden.waitForShoot(name, 'healthy', isHealthy);
  }
});

describe('a kubeconfig of a Shoot', () => {
  it('for viewers opens neither Secrets nor writes', async () => {
    const viewer = await garden.shootClient('web', 'viewer');

    const nodes = await viewer.call('GET', '/api/v1/nodes');
    const refused = [await viewer.call('GET', SECRETS), await viewer.call('POST', SECRETS, aToken({}, 'viewer'))];
    viewer.close();

    expect([nodes.status, ...refused.map(({ status }) => status)]).toEqual([200, 403, 403]);
  });

  it('grants no access to another Shoot, nor to one that is hibernated', async () => {
    await garden.createReady({ name: 'other' });
    const mine = await kubeconfigOf('web');
    const other = await kubeconfigOf('other');
    const mixed = new KubeConfig();
    const [cluster, user] = [load(other).getCurrentCluster(), load(mine).getCurrentUser()];
    if (cluster === null || user === null) throw new Error('both are there');
    mixed.loadFromClusterAndUser(cluster, user);

    await expect(mixed.makeApiClient(CoreV1Api).listNode()).rejects.toMatchObject({ code: 401 });
    await garden.patch('other', { spec: { hibernation: { enabled: true } } });
    await garden.waitForShoot('other', 'asleep', (read) => read.status.hibernated && isHealthy(read));
    await expect(nodesOf(other)).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/^(UND_ERR_SOCKET|ECONNRESET)$/) },
    });
  });
});

describe('an object in the cluster of a Shoot', () => {
  const apply = (path: string, object: object) =>
    shoot.call('PATCH', `${path}?fieldManager=f&force=false`, object, 'application/apply-patch+yaml');
  const service = (spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'edge' }, spec });
  const serviceAt = '/api/v1/namespaces/web/services/edge';

  it('is applied, listed by its type and deleted, and a load balancer has addresses', async () => {
    const made = await apply(serviceAt, service({ type: 'LoadBalancer' }));
    const listed = async () =>
      (await shoot.call('GET', '/api/v1/services?fieldSelector=spec.type%3DLoadBalancer')).body.items;

    expect(made.body.status.loadBalancer.ingress).toHaveLength(2);
    expect(await listed()).toEqual([made.body]);
    await apply(serviceAt, service({ type: 'ClusterIP' }));
    expect(await listed()).toEqual([]);
    expect((await shoot.call('DELETE', serviceAt)).status).toBe(200);
    expect((await shoot.call('GET', serviceAt)).status).toBe(404);
  });

  it('of a kind without a definition is an unknown path', async () => {
    const issuers = '/apis/cert-manager.io/v1/clusterissuers';
    const name = 'clusterissuers.cert-manager.io';
    const read = async () => (await shoot.call('GET', issuers)).status;

    expect(await read()).toBe(404);
    const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name } };
    await apply(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`, definition);
    expect(await read()).toBe(200);
  });
});

describe('a server rebuilt with join data', () => {
  let id = 4_710;
  let name: string;
  beforeEach(() => {
    id += 1;
    name = `srv-${id}`;
  });
  const joinConfig = (change: JoinConfigChange = {}) =>
    renderJoinConfig(shoot, secretName, { ...change, more: { hostname: name, ...change.more } });
  const rebuild = async (userData: string, image = 161_547_269) => {
    await garden.cloud.call('POST', `/servers/${id}/actions/rebuild`, { image, user_data: userData });
    // The server has then processed the user data, with any result.
    await waitFor('the first boot', () => {
      const server = garden.cloud.admin.servers().find((each) => each.id === id);
      return server?.rebuild !== null && server?.firstBoot === server?.rebuild;
    });
  };
  const readNode = async (): Promise<Part> => {
    const { status, body } = await shoot.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : null;
  };

  it('is a node of the pool whose Secret it names', async () => {
    garden.cloud.admin.addServer(TOKEN, { id });
    await rebuild(joinConfig());

    const node = await waitFor('the node', readNode);

    expect(node.metadata.labels).toMatchObject({ 'worker.gardener.cloud/pool': 'pool-a' });
    expect(node.spec.providerID).toBe(`hcloud://${id}`);
  });

  it.each<[string, () => Promise<string>, ServerOptions?]>([
    ['token is not there', async () => joinConfig({ token: 'zzzzzz.0123456789abcdef' })],
    [
      'token has expired',
      async () => {
        await shoot.call('POST', SECRETS, aToken({ expiration: '2020-01-01T00:00:00Z' }, 'expire'));
        return joinConfig({ token: 'expire.0123456789abcdef' });
      },
    ],
    ['Secret is not there', async () => joinConfig({ secret: 'gardener-node-agent-nothing-00000' })],
    ['authority is of no Shoot', async () => joinConfig({ ca: 'nobody' })],
    ['agent is never started', async () => joinConfig({ more: { runcmd: [] } })],
    [
      'name is that of a machine',
      async () => {
        name =
          garden.cloud.admin.garden.nodes(NAMESPACE, 'web').find((node) => node.name.startsWith('shoot--'))?.name ?? '';
        return joinConfig();
      },
    ],
    ['processor is another', async () => joinConfig(), { architecture: 'arm' }],
  ])('is not a node if its %s', async (_what, userData, options = {}) => {
    garden.cloud.admin.addServer(TOKEN, { id, ...options });
    await rebuild(await userData(), options.architecture === 'arm' ? 161_547_270 : undefined);

    expect((await readNode())?.spec.providerID).not.toBe(`hcloud://${id}`);
  });
});
