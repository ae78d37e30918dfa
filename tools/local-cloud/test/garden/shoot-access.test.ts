import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describeNeeding, unlessInstalled, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig, KubernetesObjectApi, makeInformer, PatchStrategy } from '@kubernetes/client-node';
import { aShoot, aWorker, NAMESPACE } from './a-shoot.js';
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
const certificateIn = (answer: Part) => {
  const user = load(kubeconfigIn(answer)).getCurrentUser();
  return new X509Certificate(Buffer.from(user?.certData ?? '', 'base64'));
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

  it('names its user and group in a short-lived, backdated certificate', async () => {
    const admin = await request('web', 600);
    const viewer = await request('web', 600, 'viewer');

    const [certificate, viewing] = [certificateIn(admin), certificateIn(viewer)];
    const { expirationTimestamp } = admin.body.status;
    expect(certificate.subject.split('\n')).toEqual([
      'CN=gardener.cloud:admin:system:serviceaccount:garden:technical-user',
      'O=gardener.cloud:project:admins',
    ]);
    expect(viewing.subject).toContain('O=gardener.cloud:project:viewers');
    expect(Date.parse(certificate.validTo)).toBe(Date.parse(expirationTimestamp));
    expect(Date.parse(expirationTimestamp) - Date.parse(certificate.validFrom)).toBeGreaterThan(600_000);
  });

  it('has one cluster for each address, the external one first', async () => {
    const config = load(kubeconfigIn(await request('web')));

    expect([config.getCurrentContext(), config.getClusters().map(({ name }) => name)]).toEqual([
      `${NAMESPACE}--web-external`,
      [`${NAMESPACE}--web-external`, `${NAMESPACE}--web-internal`],
    ]);
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

  it('is refused while the Shoot has no address', async () => {
    garden.cloud.admin.garden.addShootFaults({
      name: 'young',
      effect: { codes: ['ERR_INFRA_QUOTA_EXCEEDED'], task: 'Waiting until shoot infrastructure has been reconciled' },
    });
    await garden.apply(aShoot({ name: 'young' }));

    const { status, body } = await request('young');

    expect([status, body.message]).toEqual([
      422,
      expect.stringContaining('no suitable advertised address for kube-apiserver'),
    ]);
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

describe('@kubernetes/client-node', () => {
  it('applies, reads, lists and deletes objects of any kind', async () => {
    const api = KubernetesObjectApi.makeApiClient(load(garden.cloud.gardenKubeconfig));
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'client', namespace: NAMESPACE },
      data: { a: 'Yg==' },
    };

    const applied = await api.patch(secret, undefined, undefined, 'client', false, PatchStrategy.ServerSideApply);
    const read: Part = await api.read({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'client', namespace: NAMESPACE },
    });
    const listed = await api.list('core.gardener.cloud/v1beta1', 'Shoot', NAMESPACE);
    await api.delete({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'client', namespace: NAMESPACE } });

    expect([applied.metadata?.name, read.data]).toEqual(['client', { a: 'Yg==' }]);
    expect(listed.items.map(({ metadata }) => metadata?.name)).toContain('web');
    await expect(api.read(secret)).rejects.toMatchObject({ code: 404 });
  });

  it('keeps an informer up to date', async () => {
    const config = load(garden.cloud.gardenKubeconfig);
    const api = KubernetesObjectApi.makeApiClient(config);
    const informer = makeInformer(config, SHOOTS, () => api.list('core.gardener.cloud/v1beta1', 'Shoot', NAMESPACE));
    const last = new Map<string, Part>();
    for (const event of ['add', 'update'] as const) {
      informer.on(event, (shoot: Part) => void last.set(shoot.metadata.name, shoot));
    }
    await informer.start();

    await garden.apply(aShoot({ name: 'watched' }));
    await waitFor('the informer to see it healthy', () =>
      isHealthy(last.get('watched') ?? { metadata: {}, status: {} }),
    );

    await informer.stop();
    expect(last.get('web')?.status.lastOperation.state).toBe('Succeeded');
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

describe('the certificate authority of a Shoot', () => {
  const at = (name: string) => `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}.ca-cluster`;
  const authorityOf = async (name: string) =>
    Buffer.from(load(kubeconfigIn(await request(name))).getCurrentCluster()?.caData ?? '', 'base64').toString();
  const untilThere = (path: string) =>
    waitFor('the authority', async () => {
      const { status, body } = await garden.call('GET', path);
      return status === 200 && body;
    });

  it('is in a ConfigMap of the Shoot, and is deleted with it', async () => {
    await garden.createReady({ name: 'kept' });

    const { data } = await untilThere(at('kept'));

    expect(data).toEqual({ 'ca.crt': await authorityOf('kept') });
    garden.cloud.admin.garden.vanishShoot(NAMESPACE, 'kept');
    expect((await garden.call('GET', at('kept'))).status).toBe(404);
  });

  it('is not repaired after a manual change', async () => {
    await garden.createReady({ name: 'edited' });
    await untilThere(at('edited'));
    const path = at('edited');

    await garden.call('PATCH', path, { data: { 'ca.crt': 'mine' } }, 'application/merge-patch+json');
    await garden.patch('edited', { metadata: { annotations: { 'gardener.cloud/operation': 'reconcile' } } });
    await garden.waitForShoot('edited', 'healthy', isHealthy);

    expect((await garden.call('GET', path)).body.data).toEqual({ 'ca.crt': 'mine' });
  });
});
