import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding, freePort, unlessInstalled, waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type { ServerOptions } from '../../src/index.js';
import { TOKEN } from '../start-test-cloud.js';
import { type KubeClient, kubectlWith } from './kube-client.js';
import { aToken, aWorker, type JoinConfigChange, NAMESPACE, renderJoinConfig } from './objects.js';
import { isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

const SECRETS = '/api/v1/namespaces/kube-system/secrets';

// biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
type Part = any;

let dataDir: string;
let garden: TestGarden;
let shoot: KubeClient;
let secretName: string;
// The join data contains the address of the Shoots, which a restart must keep.
let shootPort: number;
const open = async () => {
  garden = await startTestGarden({ joinMs: 20 }, { dataDir, actionMs: 20, shootPort });
};
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
  shootPort = await freePort();
  await open();
  await garden.createReady({
    name: 'web',
    workers: [aWorker({ labels: { team: 'blue' } }), aWorker({ name: 'pool-b' })],
  });
  shoot = await garden.shootClient('web');
  secretName = (await shoot.call('GET', SECRETS)).body.items[0].metadata.name;
  await shoot.call('POST', SECRETS, aToken());
});
afterAll(async () => {
  shoot.close();
  await garden.stop();
  rmSync(dataDir, { recursive: true });
});

const requestKubeconfig = (name: string, expirationSeconds: number, access = 'admin') =>
  garden.call('POST', `${SHOOTS}/${name}/${access}kubeconfig`, { spec: { expirationSeconds } });
const kubeconfigOf = async (name: string, seconds = 3_600, access = 'admin') =>
  Buffer.from((await requestKubeconfig(name, seconds, access)).body.status.kubeconfig, 'base64').toString('utf8');
const load = (kubeconfig: string) => {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config;
};
const nodesOf = async (kubeconfig: string) => (await load(kubeconfig).makeApiClient(CoreV1Api).listNode()).items;

describe('a kubeconfig of a Shoot', () => {
  it('grants access to the API server, which lists a node for each machine', async () => {
    const nodes = await nodesOf(await kubeconfigOf('web'));

    const pools = nodes.map(({ metadata }) => metadata?.labels?.['worker.gardener.cloud/pool']);
    expect(pools.sort()).toEqual(['pool-a', 'pool-b']);
  });

  it('for viewers opens neither Secrets nor writes', async () => {
    const viewer = await garden.shootClient('web', 'viewer');

    const nodes = await viewer.call('GET', '/api/v1/nodes');
    const refused = [await viewer.call('GET', SECRETS), await viewer.call('POST', SECRETS, aToken({}, 'viewer'))];
    viewer.close();

    expect([nodes.status, ...refused.map(({ status }) => status)]).toEqual([200, 403, 403]);
  });

  it('is not issued for less than ten minutes, or for a Shoot that is not there', async () => {
    const answers = [await requestKubeconfig('web', 599), await requestKubeconfig('nothing', 600)];

    expect(answers.map(({ status }) => status)).toEqual([422, 404]);
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

describe('a server rebuilt with join data', () => {
  let id = 4_710;
  let name: string;
  beforeEach(() => {
    id += 1;
    name = `srv-${id}`;
  });
  const joinConfig = (change: JoinConfigChange = {}) =>
    renderJoinConfig(shoot, secretName, { ...change, more: { hostname: name, ...change.more } });
  const act = (action: string, body?: object) => garden.cloud.call('POST', `/servers/${id}/actions/${action}`, body);
  const rebuild = async (userData: string) => {
    await act('rebuild', { image: 'ubuntu-24.04', user_data: userData });
    // Then the user data was processed, with any result.
    await waitFor('the first boot', () => {
      const server = garden.cloud.admin.servers().find((each) => each.id === id);
      return server?.rebuild !== null && server?.firstBoot === server?.rebuild;
    });
  };
  const readNode = async (): Promise<Part> => {
    const { status, body } = await shoot.call('GET', `/api/v1/nodes/${name}`);
    return status === 200 ? body : null;
  };
  const untilReady = (status: string) =>
    waitFor(`the node to be Ready: ${status}`, async () => {
      const node = await readNode();
      return node?.status.conditions[0].status === status && node;
    });
  const mark = () =>
    shoot.call('PATCH', `/api/v1/nodes/${name}`, {
      metadata: { annotations: { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' } },
    });
  const joined = async (options: ServerOptions = {}) => {
    garden.cloud.admin.addServer(TOKEN, { id, ...options });
    await rebuild(joinConfig());
    await untilReady('True');
    await mark();
  };
  const pods = async (): Promise<Part[]> =>
    (await shoot.call('GET', `/api/v1/pods?fieldSelector=spec.nodeName=${name}`)).body.items;

  it('becomes a node of the pool whose Secret it names, and surplus for the garden until it is marked', async () => {
    const condition = async () => {
      const { status } = await garden.readShoot('web');
      return status.conditions.find(({ type }: Part) => type === 'EveryNodeReady');
    };
    garden.cloud.admin.addServer(TOKEN, { id });
    await rebuild(joinConfig());

    expect(await untilReady('True')).toMatchObject({
      metadata: { labels: { 'worker.gardener.cloud/pool': 'pool-a', team: 'blue' } },
      spec: { providerID: `hcloud://${id}` },
      status: { nodeInfo: { kubeletVersion: 'v1.34.3' } },
    });
    await waitFor('the garden to miss a machine', async () => (await condition()).reason === 'NodesScalingDown');
    await mark();
    await waitFor('the garden to be content', async () => (await condition()).status === 'True');
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
    ['join is made to fail', async () => joinConfig(), { joins: false }],
  ])('is not a node if its %s', async (_what, userData, options = {}) => {
    garden.cloud.admin.addServer(TOKEN, { id, ...options });
    await rebuild(await userData());

    expect((await readNode())?.spec.providerID).not.toBe(`hcloud://${id}`);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['is rebuilt without join data', () => act('rebuild', { image: 'ubuntu-24.04', user_data: '#cloud-config\n' })],
    ['is powered off', () => act('poweroff')],
    ['is deleted', () => garden.cloud.call('DELETE', `/servers/${id}`)],
    ['is deleted by hand', async () => garden.cloud.admin.vanishServer(id)],
  ])('is no longer ready after its server %s', async (_what, happens) => {
    await joined();
    await happens();

    await untilReady('Unknown');
    await shoot.call('DELETE', `/api/v1/nodes/${name}`);
    expect(await readNode()).toBeNull();
  });

  it('has pods that are evicted by uid', async () => {
    await joined();
    const { name: pod, uid } = (await pods()).find(({ metadata }) => metadata.namespace === 'default').metadata;
    const evict = (of: string) =>
      shoot.call('POST', `/api/v1/namespaces/default/pods/${pod}/eviction`, {
        deleteOptions: { preconditions: { uid: of } },
      });

    const statuses = [await evict('another'), await evict(uid), await evict(uid)].map(({ status }) => status);

    expect(statuses).toEqual([409, 201, 404]);
    expect(await pods()).toHaveLength(2);
  });

  it('survives a restart with its labels, pods and tokens, is ready again after a rebuild, and waits for its cluster', async () => {
    await joined();
    const before = [await readNode(), await pods(), (await shoot.call('GET', SECRETS)).body.items.length];
    shoot.close();
    await garden.stop();
    await open();
    shoot = await garden.shootClient('web');
    expect([await readNode(), await pods(), (await shoot.call('GET', SECRETS)).body.items.length]).toEqual(before);

    await garden.patch('web', { spec: { hibernation: { enabled: true } } });
    await garden.waitForShoot('web', 'asleep', (read) => read.status.hibernated && isHealthy(read));
    await act('rebuild', { image: 'ubuntu-24.04', user_data: joinConfig() });
    await garden.patch('web', { spec: { hibernation: { enabled: false } } });
    await garden.waitForShoot('web', 'awake', (read) => !read.status.hibernated);

    const node = await untilReady('True');
    expect([node.metadata.uid, node.metadata.annotations]).toEqual([
      before[0].metadata.uid,
      before[0].metadata.annotations,
    ]);
  });
});

const missingKubectl = unlessInstalled(['kubectl', 'version', '--client'], {
  what: 'kubectl',
  how: 'put kubectl on PATH',
});

describeNeeding(describe, missingKubectl, 'kubectl', () => {
  it('prints the nodes of a Shoot, until its kubeconfig expires by the clock of the cloud', async () => {
    const kubectl = kubectlWith(await kubeconfigOf('web', 600), dataDir);

    const printed = await kubectl('get', 'nodes');
    garden.cloud.admin.advanceClock(601_000);
    const late = await kubectl('get', 'nodes');

    expect(printed).toMatch(/^NAME +STATUS +ROLES +VERSION +AGE$/m);
    expect(printed.match(/^shoot--acme--web-pool-[ab]-hel1-dc2-\S+ +Ready +<none> +v1\.34\.3 +\S+$/gm)).toHaveLength(2);
    expect(late).toMatch(/Unauthorized|logged in/);
  });
});
