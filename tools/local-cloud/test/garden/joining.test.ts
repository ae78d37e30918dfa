import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, waitFor } from '@corral/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerOptions } from '../../src/index.js';
import { TOKEN } from '../start-test-cloud.js';
import { aWorker, NAMESPACE } from './a-shoot.js';
import { type JoinConfigChange, renderJoinConfig } from './join-config.js';
import { aToken, SECRETS, type ShootClient, shootClient } from './shoot-client.js';
import { hasState, isHealthy, startTestGarden, type TestGarden } from './start-test-garden.js';

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind are picked apart
type Part = any;

const NODE = '/api/v1/nodes/srv-1';

let dataDir: string;
let garden: TestGarden;
let shoot: ShootClient;
let secretName: string;
// The join data contains the address of the Shoot, which a restart must keep.
let shootPort: number;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
  shootPort = await freePort();
  garden = await startTestGarden({ joinMs: 20 }, { dataDir, actionMs: 20, shootPort });
  await garden.createReady({ name: 'web', workers: [aWorker({ labels: { team: 'blue' } })] });
  shoot = await shootClient(garden, 'web');
  secretName = (await shoot.call('GET', SECRETS)).body.items[0].metadata.name;
  await shoot.call('POST', SECRETS, aToken());
});
afterEach(async () => {
  shoot.close();
  await garden.stop();
  rmSync(dataDir, { recursive: true });
});

const joinConfig = (change: JoinConfigChange = {}) => renderJoinConfig(shoot, secretName, change);
const addServer = (options: ServerOptions = {}) => garden.cloud.admin.addServer(TOKEN, { id: 4711, ...options });
const act = async (action: string, body?: object) => {
  const { status, text } = await garden.cloud.call('POST', `/servers/4711/actions/${action}`, body);
  if (status !== 201) throw new Error(text);
};
const rebuild = async (userData: string) => {
  await act('rebuild', { image: 'ubuntu-24.04', user_data: userData });
  await waitFor('the end of the rebuild', async () => {
    return (await garden.cloud.call('GET', '/servers/4711')).body.server.locked === false;
  });
};
const readNode = async (): Promise<Part> => {
  const { status, body } = await shoot.call('GET', NODE);
  return status === 200 ? body : null;
};
const readyOf = (node: Part) => node?.status.conditions.find(({ type }: Part) => type === 'Ready');
const untilReady = (status: string) =>
  waitFor(`the node to be Ready: ${status}`, async () => {
    const node = await readNode();
    return readyOf(node)?.status === status && node;
  });
/** Waits until the user data was processed, with any result. */
const untilBooted = () =>
  waitFor('the first boot', () => {
    const server = garden.cloud.admin.servers().find(({ id }) => id === 4711);
    return server?.rebuild !== null && server?.firstBoot === server?.rebuild;
  });
const condition = async () => {
  const { status } = await garden.readShoot('web');
  return status.conditions.find(({ type }: Part) => type === 'EveryNodeReady');
};
const mark = () =>
  shoot.call('PATCH', NODE, { metadata: { annotations: { 'node.machine.sapcloud.io/not-managed-by-mcm': '1' } } });
const pods = async (): Promise<Part[]> =>
  (await shoot.call('GET', '/api/v1/pods?fieldSelector=spec.nodeName=srv-1')).body.items;
const evict = (name: string, uid?: string) =>
  shoot.call('POST', `/api/v1/namespaces/default/pods/${name}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace: 'default' },
    ...(uid === undefined ? {} : { deleteOptions: { preconditions: { uid } } }),
  });

describe('a server rebuilt with join data', () => {
  it('becomes a node of the pool whose Secret it names', async () => {
    addServer();
    await rebuild(joinConfig());

    const node = await untilReady('True');

    expect(node).toMatchObject({
      metadata: {
        labels: { 'worker.gardener.cloud/pool': 'pool-a', team: 'blue' },
      },
      spec: { providerID: 'hcloud://4711' },
      status: { nodeInfo: { kubeletVersion: 'v1.34.3' } },
    });
    expect(Date.now() - Date.parse(node.metadata.creationTimestamp)).toBeLessThan(60_000);
    expect(garden.cloud.admin.garden.nodes(NAMESPACE, 'web')).toContainEqual(
      expect.objectContaining({ name: 'srv-1', serverId: 4711, isReady: true }),
    );
  });

  it.each<[string, () => Promise<string>, ServerOptions?]>([
    ['token is not there', async () => joinConfig({ token: 'zzzzzz.0123456789abcdef' })],
    ['token has another secret', async () => joinConfig({ token: 'abcdef.ffffffffffffffff' })],
    [
      'token has expired',
      async () => {
        await shoot.call('POST', SECRETS, aToken({ expiration: '2020-01-01T00:00:00Z' }, 'expire'));
        return joinConfig({ token: 'expire.0123456789abcdef' });
      },
    ],
    [
      'token is for signing only',
      async () => {
        await shoot.call('POST', SECRETS, aToken({ 'usage-bootstrap-authentication': 'false' }, 'signer'));
        return joinConfig({ token: 'signer.0123456789abcdef' });
      },
    ],
    ['Secret is not there', async () => joinConfig({ secret: 'gardener-node-agent-nothing-00000' })],
    ['authority is of no Shoot', async () => joinConfig({ ca: 'nobody' })],
    ['agent is never started', async () => joinConfig({ more: { runcmd: [] } })],
    [
      'name is that of a machine',
      async () => {
        const [hostname] = garden.cloud.admin.garden.contents().shoots[0]?.machines['pool-a'] ?? [];
        return joinConfig({ more: { hostname } });
      },
    ],
    ['processor is another', async () => joinConfig(), { architecture: 'arm' }],
    ['join is made to fail', async () => joinConfig(), { joins: false }],
  ])('is not a node if its %s', async (_what, userData, options = {}) => {
    addServer(options);
    await rebuild(await userData());

    await untilBooted();

    expect(garden.cloud.admin.garden.nodes(NAMESPACE, 'web').map(({ serverId }) => serverId)).toEqual([null]);
  });

  it('joins the Shoot whose certificate authority it trusts, among several at one address', async () => {
    await garden.createReady({ name: 'other' });
    const other = await shootClient(garden, 'other');
    await other.call('POST', SECRETS, aToken());
    const { body } = await other.call('GET', SECRETS);
    const secret = body.items.find(({ metadata }: Part) => metadata.labels !== undefined).metadata.name;
    addServer();
    await rebuild(joinConfig({ ca: other.certificateAuthority, secret }));

    await waitFor('the node', async () => (await other.call('GET', NODE)).status === 200);

    expect(await readNode()).toBeNull();
    other.close();
  });

  it('waits for an unavailable API server', async () => {
    await garden.patch('web', { spec: { hibernation: { enabled: true } } });
    await garden.waitForShoot('web', 'asleep', (read) => read.status.hibernated && isHealthy(read));
    addServer();
    await rebuild(joinConfig());

    await garden.patch('web', { spec: { hibernation: { enabled: false } } });

    // The garden is not healthy again if the node joins before its first health check.
    await garden.waitForShoot('web', 'awake', (read) => !read.status.hibernated && hasState('Succeeded')(read));
    await untilReady('True');
  });
});

describe('a joined node', () => {
  const joined = async () => {
    addServer();
    await rebuild(joinConfig());
    await untilReady('True');
  };

  it.each<[string, () => Promise<unknown>]>([
    ['is rebuilt without join data', () => act('rebuild', { image: 'ubuntu-24.04', user_data: '#cloud-config\n' })],
    ['is powered off', () => act('poweroff')],
    ['is deleted', () => garden.cloud.call('DELETE', '/servers/4711')],
    ['is deleted by hand', async () => garden.cloud.admin.vanishServer(4711)],
  ])('is no longer ready after its server %s', async (_what, happens) => {
    await joined();
    await happens();

    const node = await untilReady('Unknown');

    expect(readyOf(node)).toMatchObject({ message: 'Kubelet stopped posting node status.' });
  });

  it('is ready again after a rebuild with join data, and keeps its labels and annotations', async () => {
    await joined();
    await mark();
    const { uid } = (await readNode()).metadata;

    // The machine does not join until the clock is advanced, so no check is too late.
    garden.cloud.admin.changeServer(4711, { joinMs: 60_000 });
    await act('rebuild', { image: 'ubuntu-24.04', user_data: joinConfig() });
    await untilReady('Unknown');
    garden.cloud.admin.advanceClock(61_000);
    const node = await untilReady('True');

    expect(node.metadata.uid).toBe(uid);
    expect(node.metadata.annotations['node.machine.sapcloud.io/not-managed-by-mcm']).toBe('1');
  });

  it('counts as surplus for the garden until it is marked as unmanaged', async () => {
    await joined();

    await waitFor('the garden to miss a machine', async () => (await condition()).status === 'False');
    expect(await condition()).toMatchObject({
      reason: 'NodesScalingDown',
      message: 'too many worker nodes are registered. Exceeding maximum desired machine count (2/1)',
    });
    await mark();

    await waitFor('the garden to be content', async () => (await condition()).status === 'True');
  });

  it('survives a restart with its labels, pods and tokens, and does not join again', async () => {
    await joined();
    await mark();
    const before = [await readNode(), await pods(), (await shoot.call('GET', SECRETS)).body.items.length];
    shoot.close();
    await garden.stop();

    garden = await startTestGarden({ joinMs: 20 }, { dataDir, actionMs: 20 });
    shoot = await shootClient(garden, 'web');

    expect([await readNode(), await pods()]).toEqual(before.slice(0, 2));
    expect((await shoot.call('GET', SECRETS)).body.items).toHaveLength(before[2]);
  });
});

describe('pods of a joined node', () => {
  beforeEach(async () => {
    addServer();
    await rebuild(joinConfig());
    await untilReady('True');
  });

  it('are evicted by uid', async () => {
    const { name, uid } = (await pods())[0].metadata;

    expect((await evict(name, 'another')).body).toMatchObject({ code: 409, reason: 'Conflict' });
    expect(await evict(name, uid)).toMatchObject({ status: 201, body: { status: 'Success' } });
    expect((await evict(name, uid)).status).toBe(404);
    expect(await pods()).toHaveLength(2);
  });
});
