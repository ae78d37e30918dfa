import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding, unlessInstalled, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FaultEffect } from '../../src/index.js';
import { startTestCloud } from '../start-test-cloud.js';
import { kubeClient, kubectlWith } from './kube-client.js';
import { aSecret, aShoot } from './objects.js';
import { isHealthy, SECRETS, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

const APPLY = 'application/apply-patch+yaml';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden({ createMs: 3_600_000 });
});
afterEach(() => garden.cloud.admin.clearFaults());
afterAll(() => garden.stop());

describe('an apply', () => {
  it('owns what it declares and no defaults, and sent again changes nothing', async () => {
    const { body } = await garden.apply(aShoot({ name: 'owned' }), { manager: 'corral' });
    const again = await garden.apply(aShoot({ name: 'owned' }), { manager: 'corral' });

    const { fieldsV1 } = body.metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'corral');
    expect(fieldsV1['f:spec']).toMatchObject({
      'f:region': {},
      'f:provider': { 'f:workers': { 'k:{"name":"pool-a"}': { '.': {}, 'f:maximum': {} } } },
    });
    expect(JSON.stringify(fieldsV1)).not.toContain('f:maxSurge');
    expect(again.body.metadata).toEqual(body.metadata);
  });
});

describe('a service account', () => {
  it('needs the right to create for an apply that creates something', async () => {
    const reconciler = kubeClient(garden.cloud.gardenKubeconfigs.reconciler);
    const apply = () =>
      reconciler.call('PATCH', `${SHOOTS}/by-apply?fieldManager=corral`, aShoot({ name: 'by-apply' }), APPLY);
    const { setRights } = garden.cloud.admin.garden;
    setRights('reconciler', [{ apiGroups: ['core.gardener.cloud'], resources: ['shoots'], verbs: ['get', 'patch'] }]);

    const refused = await apply();
    setRights('reconciler', null);
    const made = await apply();
    reconciler.close();

    expect([refused.status, made.status]).toEqual([403, 201]);
    expect(refused.body.message).toContain('cannot create resource "shoots"');
  });
});

describe('a watch', () => {
  const versionNow = async (): Promise<string> => (await garden.call('GET', SHOOTS)).body.metadata.resourceVersion;
  const label = (name: string, value: string | null) => garden.patch(name, { metadata: { labels: { color: value } } });
  const until = (events: readonly unknown[], count: number) =>
    waitFor(`${count} events`, async () => events.length >= count);

  it('delivers every event after its version, even after a disconnect', async () => {
    const version = await versionNow();
    await garden.apply(aShoot({ name: 'watched' }));
    await label('watched', 'red');

    const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${version}`);
    await until(stream.events, 2);
    stream.stop();

    expect(stream.events.slice(0, 2)).toMatchObject([
      { type: 'ADDED', object: { metadata: { name: 'watched' } } },
      { type: 'MODIFIED', object: { metadata: { labels: { color: 'red' } } } },
    ]);
  });

  it('with a selector reports objects that begin or cease to match', async () => {
    await garden.apply(aShoot({ name: 'painted' }));
    const stream = await garden.watch(
      `${SHOOTS}?watch=1&resourceVersion=${await versionNow()}&labelSelector=color=blue`,
    );
    for (const color of ['blue', null]) await label('painted', color);
    await until(stream.events, 2);
    stream.stop();

    expect(stream.events.map(({ type }) => type).filter((type) => type !== 'MODIFIED')).toEqual(['ADDED', 'DELETED']);
  });
});

describe('an injected fault', () => {
  const inject = (effect: FaultEffect, method = 'APPLY') =>
    garden.cloud.admin.addFaults({ match: { api: 'garden', method, path: '/shoots' }, effect });

  it('of a status is a Status as an API server sends it, and performs nothing', async () => {
    inject({ status: 503 });

    const { status, body } = await garden.apply(aShoot({ name: 'faulty' }));

    expect(status).toBe(503);
    expect(body).toMatchObject({ kind: 'Status', status: 'Failure', code: 503, reason: 'ServiceUnavailable' });
    expect((await garden.call('GET', `${SHOOTS}/faulty`)).status).toBe(404);
  });

  it('with a status ends a watch before its first event', async () => {
    inject({ status: 504, perform: true }, 'WATCH');
    const { body } = await garden.call('GET', SHOOTS);
    const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

    garden.cloud.admin.garden.dropWatches();

    await stream.ended;
    expect([stream.status, stream.events]).toEqual([200, []]);
  });

  it('can end a watch in the middle of its first event', async () => {
    inject({ truncate: true }, 'WATCH');
    await garden.apply(aShoot({ name: 'cut' }));

    const stream = await garden.watch(`${SHOOTS}?watch=1`);
    await stream.ended;

    expect([stream.status, stream.events]).toEqual([200, []]);
  });

  it('for one API does not affect the others', async () => {
    garden.cloud.admin.addFaults({ match: { api: 'garden' }, times: null, effect: { status: 500 } });

    const zones = await garden.cloud.call('GET', '/zones');
    const shoots = await garden.call('GET', SHOOTS);

    expect([zones.status, shoots.status]).toEqual([200, 500]);
  });
});

describe('a restart', () => {
  it('keeps every object, the version, token and authority, and resumes flows', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'garden-'));
    const first = await startTestGarden({ createMs: 2_000 }, { dataDir });
    await first.apply(aShoot());
    await first.waitForShoot('web', 'half-way', ({ status }) => status.lastOperation?.progress > 30);
    const { body: before } = await first.call('GET', SECRETS);
    await first.stop();

    const cloud = await startTestCloud({ dataDir, garden: { createMs: 40, reconcileMs: 40 } });
    const client = kubeClient(cloud.gardenKubeconfig);
    const { body: after } = await client.call('GET', SECRETS);
    const shoot = await waitFor('the Shoot to be healthy', async () => {
      const { body } = await client.call('GET', `${SHOOTS}/web`);
      return isHealthy(body) && body;
    });
    const stream = await client.watch(
      `${SHOOTS}?watch=1&resourceVersion=${Number(before.metadata.resourceVersion) - 1}`,
    );
    await stream.ended;
    client.close();
    await cloud.close();

    const withoutPort = (text: string) => text.replace(/127\.0\.0\.1:\d+/, '');
    expect(after.items).toEqual(before.items);
    expect(Number(after.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(before.metadata.resourceVersion));
    expect(withoutPort(cloud.gardenKubeconfig)).toBe(withoutPort(first.cloud.gardenKubeconfig));
    expect(readFileSync(join(dataDir, 'garden.kubeconfig'), 'utf8')).toBe(cloud.gardenKubeconfig);
    expect(shoot.status.lastOperation).toMatchObject({ type: 'Create', state: 'Succeeded' });
    expect(stream.events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
    rmSync(dataDir, { recursive: true });
  });
});

const missingKubectl = unlessInstalled(['kubectl', 'version', '--client'], {
  what: 'kubectl',
  how: 'put kubectl on PATH',
});

describeNeeding(describe, missingKubectl, 'an operator with kubectl', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'garden-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('applies, and patches a Shoot by merge and by JSON patch', async () => {
    const kubectl = kubectlWith(garden.cloud.gardenKubeconfig, folder);
    const file = join(folder, 'secret.json');
    writeFileSync(file, JSON.stringify(aSecret('ctl', 'x')));
    await garden.apply(aShoot({ name: 'by-hand' }));
    const patch = (type: string, body: unknown) =>
      kubectl(
        '--namespace',
        'garden-acme',
        'patch',
        'shoot',
        'by-hand',
        '--type',
        type,
        '--patch',
        JSON.stringify(body),
      );

    const applied = await kubectl('apply', '--server-side', '--validate=false', '-f', file);
    const merged = await patch('merge', { spec: { hibernation: { enabled: true } } });
    const replaced = await patch('json', [{ op: 'replace', path: '/spec/provider/workers/0/maximum', value: 7 }]);
    const refused = await patch('json', [{ op: 'remove', path: '/spec/nothing' }]);

    expect(applied).toContain('secret/ctl serverside-applied');
    expect([merged, replaced]).toEqual(Array(2).fill('shoot.core.gardener.cloud/by-hand patched\n'));
    expect(refused).toContain('the path /spec/nothing does not exist');
    const { spec, metadata } = await garden.readShoot('by-hand');
    expect(spec).toMatchObject({ hibernation: { enabled: true }, provider: { workers: [{ maximum: 7 }] } });
    const managers = metadata.managedFields.map(({ manager }: { manager: string }) => manager);
    expect(managers).toContain('kubectl-patch');
  });
});
