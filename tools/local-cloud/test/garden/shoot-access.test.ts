import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describeNeeding, unlessInstalled } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { aWorker, NAMESPACE } from './a-shoot.js';
import { isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'garden-'));
  garden = await startTestGarden();
  await garden.createReady({ name: 'web', workers: [aWorker({ minimum: 2 }), aWorker({ name: 'pool-b' })] });
});
afterAll(async () => {
  await garden.stop();
  rmSync(folder, { recursive: true });
});

// biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
type Part = any;

const request = (name: string, expirationSeconds?: number, access: 'admin' | 'viewer' = 'admin') =>
  garden.call('POST', `${SHOOTS}/${name}/${access}kubeconfig`, {
    apiVersion: 'authentication.gardener.cloud/v1alpha1',
    kind: access === 'admin' ? 'AdminKubeconfigRequest' : 'ViewerKubeconfigRequest',
    spec: expirationSeconds === undefined ? {} : { expirationSeconds },
  });
const kubeconfigIn = ({ body }: Part) => Buffer.from(body.status.kubeconfig, 'base64').toString('utf8');
const load = (kubeconfig: string) => {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config;
};
const nodesOf = async (kubeconfig: string) => {
  const { items } = await load(kubeconfig).makeApiClient(CoreV1Api).listNode();
  return items.map(({ metadata }) => metadata?.labels?.['worker.gardener.cloud/pool']).sort();
};

describe('a kubeconfig of a Shoot', () => {
  it('grants access to the API server, which lists a node for each machine', async () => {
    const answer = await request('web');

    expect([answer.status, answer.body.kind, answer.body.spec]).toEqual([
      201,
      'AdminKubeconfigRequest',
      { expirationSeconds: 3600 },
    ]);
    expect(await nodesOf(kubeconfigIn(answer))).toEqual(['pool-a', 'pool-a', 'pool-b']);
  });

  it.each([
    [
      'for less than ten minutes',
      'web',
      599,
      422,
      'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    ['for a Shoot that is not there', 'nothing', 600, 404, 'shoots.core.gardener.cloud "nothing" not found'],
  ])('is refused %s', async (_case, name, seconds, expected, message) => {
    const { status, body } = await request(name, seconds);

    expect([status, body.message]).toEqual([expected, expect.stringContaining(message)]);
  });

  it('is issued for a hibernated Shoot, but its API server does not answer', async () => {
    await garden.createReady({ name: 'asleep' });
    await garden.patch('asleep', { spec: { hibernation: { enabled: true } } });
    await garden.waitForShoot('asleep', 'asleep', (shoot) => shoot.status.hibernated && isHealthy(shoot));

    const answer = await request('asleep');

    expect(answer.status).toBe(201);
    await expect(nodesOf(kubeconfigIn(answer))).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/^(UND_ERR_SOCKET|ECONNRESET)$/) },
    });
  });

  it('grants no access to another Shoot', async () => {
    await garden.createReady({ name: 'other' });
    const [mine, other] = [load(kubeconfigIn(await request('web'))), load(kubeconfigIn(await request('other')))];
    const mixed = new KubeConfig();
    const [cluster, user] = [other.getCurrentCluster(), mine.getCurrentUser()];
    if (cluster === null || user === null) throw new Error('both are there');
    mixed.loadFromClusterAndUser(cluster, user);

    await expect(mixed.makeApiClient(CoreV1Api).listNode()).rejects.toMatchObject({ code: 401 });
  });

  it('stops working when it expires by the clock of the cloud', async () => {
    const kubeconfig = kubeconfigIn(await request('web', 600));
    await nodesOf(kubeconfig);

    garden.cloud.admin.advanceClock(601_000);

    await expect(nodesOf(kubeconfig)).rejects.toMatchObject({ code: 401 });
    expect(await nodesOf(kubeconfigIn(await request('web')))).toHaveLength(3);
  });
});

/** Asynchronous, as the garden runs in this process. */
async function kubectl(kubeconfig: string, ...args: string[]): Promise<string> {
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, kubeconfig);
  const child = spawn('kubectl', args, { env: { ...process.env, KUBECONFIG: path, HOME: folder } });
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return out + errors;
}

const missingKubectl = unlessInstalled(['kubectl', 'version', '--client'], {
  what: 'kubectl',
  how: 'put kubectl on PATH',
});

describeNeeding(describe, missingKubectl, 'kubectl', () => {
  it('applies on the server side', async () => {
    const path = join(folder, 'secret.json');
    writeFileSync(
      path,
      JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ctl', namespace: NAMESPACE } }),
    );

    const applied = await kubectl(
      garden.cloud.gardenKubeconfig,
      'apply',
      '--server-side',
      '--validate=false',
      '-f',
      path,
    );

    expect(applied).toContain('secret/ctl serverside-applied');
  });

  it('prints the nodes of a Shoot', async () => {
    const printed = await kubectl(kubeconfigIn(await request('web')), 'get', 'nodes');

    expect(printed).toMatch(/^NAME +STATUS +ROLES +VERSION +AGE$/m);
    expect(printed.match(/^shoot--acme--web-pool-[ab]-hel1-dc2-\S+ +Ready +<none> +v1\.34\.3 +\S+$/gm)).toHaveLength(3);
  });
});
