import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@corral/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { startTestCloud, type TestCloud } from '../start-test-cloud.js';
import { aShoot } from './a-shoot.js';
import { gardenClient } from './garden-client.js';
import { hasState, isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'garden-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** Runs `work` on a new garden with the data folder and stops it. */
async function first<T>(work: (garden: TestGarden) => Promise<T>, garden = {}): Promise<T> {
  const started = await startTestGarden(garden, { dataDir });
  try {
    return await work(started);
  } finally {
    await started.stop();
  }
}

/** Runs `work` on the garden that the data folder holds. */
async function again<T>(work: (cloud: TestCloud, client: ReturnType<typeof gardenClient>) => Promise<T>): Promise<T> {
  const cloud = await startTestCloud({ dataDir, garden: { createMs: 40, reconcileMs: 40, deleteMs: 40 } });
  const client = gardenClient(cloud.gardenKubeconfig);
  try {
    return await work(cloud, client);
  } finally {
    client.close();
    await cloud.close();
  }
}

// biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
const timeless = ({ metadata: { resourceVersion: _, ...metadata }, status, ...rest }: any) => ({
  ...rest,
  metadata,
  status: { ...status, advertisedAddresses: null },
});

const everything = async ({ call }: Pick<TestGarden, 'call'>) => {
  const lists = ['/api/v1/secrets', '/api/v1/namespaces', '/apis/core.gardener.cloud/v1beta1/shoots'];
  return Promise.all(lists.map(async (path) => (await call('GET', path)).body));
};

describe('a restart', () => {
  it('keeps every object unchanged, the version, and the token and authority of the garden', async () => {
    const before = await first(async (garden) => {
      await garden.createReady();
      return { objects: await everything(garden), kubeconfig: new KubeConfig(), text: garden.cloud.gardenKubeconfig };
    });

    const after = await again(async (cloud, client) => ({
      objects: await everything(client),
      text: cloud.gardenKubeconfig,
    }));

    const withoutPort = (text: string) => text.replace(/127\.0\.0\.1:\d+/, '');
    const [secrets, namespaces, shoots] = after.objects;
    expect([secrets.items, namespaces.items]).toEqual([before.objects[0].items, before.objects[1].items]);
    // Without a fixed port the API servers of Shoots have other addresses after a restart.
    expect(timeless(shoots.items[0])).toEqual(timeless(before.objects[2].items[0]));
    expect(withoutPort(after.text)).toBe(withoutPort(before.text));
    expect(readFileSync(join(dataDir, 'garden.kubeconfig'), 'utf8')).toBe(after.text);
  });

  it('resumes flows', async () => {
    await first(
      async (garden) => {
        await garden.apply(aShoot());
        await garden.waitForShoot('web', 'half-way', ({ status }) => status.lastOperation?.progress > 30);
      },
      { createMs: 2000 },
    );

    await again(async (_cloud, client) => {
      const shoot = await waitFor('the Shoot to be healthy', async () => {
        const { body } = await client.call('GET', `${SHOOTS}/web`);
        return isHealthy(body) && body;
      });
      expect(shoot.status.lastOperation).toMatchObject({ type: 'Create', state: 'Succeeded' });
    });
  });

  it('keeps the certificate authority of a Shoot and its machines', async () => {
    const before = await first(async (garden) => {
      await garden.createReady();
      const { body } = await garden.call('POST', `${SHOOTS}/web/adminkubeconfig`, {});
      return { kubeconfig: body.status.kubeconfig, shoots: garden.cloud.admin.garden.contents().shoots };
    });

    const [nodes, shoots] = await again(async (cloud, client) => {
      const { body } = await client.call('POST', `${SHOOTS}/web/adminkubeconfig`, {});
      const config = new KubeConfig();
      config.loadFromString(Buffer.from(body.status.kubeconfig, 'base64').toString('utf8'));
      const old = new KubeConfig();
      old.loadFromString(Buffer.from(before.kubeconfig, 'base64').toString('utf8'));
      expect(config.getCurrentCluster()?.caData).toBe(old.getCurrentCluster()?.caData);
      const { items } = await config.makeApiClient(CoreV1Api).listNode();
      return [items.map(({ metadata }) => metadata?.name), cloud.admin.garden.contents().shoots];
    });

    expect(shoots).toEqual(before.shoots);
    expect(nodes).toEqual(before.shoots[0]?.machines['pool-a']);
  });

  it('keeps every Shoot that ever existed', async () => {
    const before = await first(async (garden) => {
      const annotations = { 'confirmation.gardener.cloud/deletion': 'true' };
      await garden.createReady({ name: 'gone', annotations });
      await garden.call('DELETE', `${SHOOTS}/gone`);
      await garden.waitForShoot('gone', 'gone', ({ code }) => code === 404);
      await garden.createReady({ name: 'gone' });
      return garden.cloud.admin.garden.shootHistory();
    });

    const after = [
      await again(async (cloud) => cloud.admin.garden.shootHistory()),
      await again(async (cloud) => cloud.admin.garden.shootHistory()),
    ];

    expect(before).toMatchObject([
      { name: 'gone', deletedAt: expect.any(String) },
      { name: 'gone', deletedAt: null },
    ]);
    expect(new Set(before.map(({ uid }) => uid)).size).toBe(2);
    expect(after).toEqual([before, before]);
  });

  it('starts a new history: an earlier watch gets 410 for its version', async () => {
    const version = await first(async (garden) => {
      const { body } = await garden.call('GET', SHOOTS);
      await garden.create(aShoot());
      return body.metadata.resourceVersion;
    });

    await again(async (_cloud, client) => {
      const stream = await client.watch(`${SHOOTS}?watch=1&resourceVersion=${version}`);
      await stream.ended;
      expect(stream.events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
    });
  });

  it('drops a truncated last line', async () => {
    await first(async (garden) => {
      await garden.createReady();
    });
    appendFileSync(join(dataDir, 'garden.jsonl'), '{"resource":"shoots","version":9999,"key":"garden-acme/w');

    await again(async (_cloud, client) => {
      const { body } = await client.call('GET', `${SHOOTS}/web`);
      expect(hasState('Succeeded', 'Create')(body)).toBe(true);
    });
  });
});
