import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ShootFault } from '../../src/garden/gardenlet/shoot-faults.js';
import { TOKEN } from '../start-test-cloud.js';
import { aShoot, aWorker, NAMESPACE } from './a-shoot.js';
import {
  aBinding,
  aSecret,
  hasState,
  isHealthy,
  SHOOTS,
  startTestGarden,
  type TestGarden,
} from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden({}, { projectTokens: ['fresh-token'] });
});
afterEach(() => garden.cloud.admin.garden.clearShootFaults());
afterAll(() => garden.stop());

// biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
type Part = any;

const fail = (name: string, effect: ShootFault['effect'], times: number | null = 1) =>
  garden.cloud.admin.garden.addShootFaults({ namespace: NAMESPACE, name, times, effect });
const annotate = (name: string, operation: string) =>
  garden.patch(name, { metadata: { annotations: { 'gardener.cloud/operation': operation } } });

describe('a failing flow', () => {
  it.each([
    ['ERR_INFRA_UNAUTHENTICATED', 'Failed'],
    ['ERR_INFRA_UNAUTHORIZED', 'Failed'],
    ['ERR_INFRA_QUOTA_EXCEEDED', 'Failed'],
    ['ERR_INFRA_RATE_LIMITS_EXCEEDED', 'Failed'],
    ['ERR_INFRA_DEPENDENCIES', 'Failed'],
    ['ERR_CONFIGURATION_PROBLEM', 'Failed'],
    ['ERR_PROBLEMATIC_WEBHOOK', 'Failed'],
    ['ERR_RETRYABLE_INFRA_DEPENDENCIES', 'Error'],
    ['ERR_INFRA_RESOURCES_DEPLETED', 'Error'],
    ['ERR_CLEANUP_CLUSTER_RESOURCES', 'Error'],
    ['ERR_RETRYABLE_CONFIGURATION_PROBLEM', 'Error'],
  ])('with %s ends in %s', async (code, state) => {
    const name = `f${code.length}${code.at(9)}${code.at(11)}`.toLowerCase().replace('_', 'x');
    fail(name, { codes: [code], message: 'said the provider' }, null);

    await garden.apply(aShoot({ name }));
    const shoot = await garden.waitForShoot(name, state, hasState(state, 'Create'));

    expect(shoot.status.lastErrors).toEqual([
      {
        codes: [code],
        description: expect.stringContaining('said the provider'),
        taskID: 'Waiting until shoot worker nodes have been reconciled',
        lastUpdateTime: expect.any(String),
      },
    ]);
    expect(shoot.status.lastOperation.progress).toBeLessThan(100);
    await garden.cloud.admin.garden.vanishShoot(NAMESPACE, name);
  });

  it('without a code is retried automatically, and keeps its errors until it succeeds', async () => {
    fail('uncoded', { message: 'error during placement (resource_unavailable)' });
    const { body } = await garden.call('GET', SHOOTS);
    const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

    await garden.apply(aShoot({ name: 'uncoded' }));
    const shoot = await garden.waitForShoot('uncoded', 'healthy', isHealthy);
    stream.stop();

    const statuses = stream.events.map(({ object }) => object.status);
    const failed = statuses.findIndex(({ lastOperation }) => lastOperation?.state === 'Error');
    const [again] = statuses.slice(failed + 1);
    expect(again).toMatchObject({
      lastOperation: { state: 'Processing', progress: 0 },
      lastErrors: [{ taskID: expect.any(String) }],
    });
    expect(again.retryCycleStartTime).toBe(statuses[failed].retryCycleStartTime);
    expect(again.lastErrors[0].codes).toBeUndefined();
    expect(shoot.status.lastErrors).toBeUndefined();
  });

  it('is retried on `retry`, but only in state Failed', async () => {
    const { metadata } = await garden.createReady({ name: 'retried' });
    const idle = await annotate('retried', 'retry');
    fail('retried', { codes: ['ERR_INFRA_QUOTA_EXCEEDED'] });
    await garden.patch('retried', {
      metadata: { annotations: { 'gardener.cloud/operation': null } },
      spec: { purpose: 'testing' },
    });
    const failed = await garden.waitForShoot('retried', 'failed', hasState('Failed', 'Reconcile'));

    const reconcile = await annotate('retried', 'reconcile');
    const retry = await annotate('retried', 'retry');
    await garden.waitForShoot('retried', 'healthy', isHealthy);

    expect([idle.body.metadata.generation, idle.body.metadata.annotations['gardener.cloud/operation']]).toEqual([
      metadata.generation,
      'retry',
    ]);
    expect([
      reconcile.body.metadata.generation,
      reconcile.body.metadata.annotations['gardener.cloud/operation'],
    ]).toEqual([failed.metadata.generation, 'reconcile']);
    expect(retry.body.metadata.generation).toBe(failed.metadata.generation + 1);
    expect(retry.body.metadata.annotations['gardener.cloud/operation']).toBeUndefined();
  });

  it('is retried after a change of the spec', async () => {
    fail('mended', { codes: ['ERR_CONFIGURATION_PROBLEM'] });
    await garden.apply(aShoot({ name: 'mended' }));
    await garden.waitForShoot('mended', 'failed', hasState('Failed', 'Create'));

    await garden.patch('mended', { spec: { purpose: 'testing' } });
    const shoot = await garden.waitForShoot('mended', 'healthy', isHealthy);

    expect(shoot.status.lastOperation.type).toBe('Create');
  });

  it('can be a deletion, which then waits until it is retried', async () => {
    const annotations = { 'confirmation.gardener.cloud/deletion': 'true' };
    await garden.createReady({ name: 'stuck', annotations });
    fail('stuck', { codes: ['ERR_INFRA_DEPENDENCIES'] });

    await garden.call('DELETE', `${SHOOTS}/stuck`);
    await garden.waitForShoot('stuck', 'failed', hasState('Failed', 'Delete'));
    await annotate('stuck', 'retry');
    await garden.waitForShoot('stuck', 'gone', ({ code }) => code === 404);
  });
});

describe('a deleted Shoot with a finalizer of somebody else', () => {
  it('stays, with its deletion complete, until that is gone', async () => {
    const annotations = { 'confirmation.gardener.cloud/deletion': 'true' };
    await garden.createReady({ name: 'kept', annotations });
    await garden.patch('kept', { metadata: { finalizers: ['gardener', 'example.org/keep'] } });

    await garden.call('DELETE', `${SHOOTS}/kept`);
    const kept = await garden.waitForShoot('kept', 'deleted', hasState('Succeeded', 'Delete'));
    garden.cloud.admin.garden.removeFinalizers(NAMESPACE, 'kept');

    expect(kept.metadata.finalizers).toEqual(['example.org/keep']);
    expect((await garden.call('GET', `${SHOOTS}/kept`)).status).toBe(404);
  });
});

describe('a stuck flow', () => {
  it('stays Processing until the fault is cleared', async () => {
    fail('halted', { stuck: true });
    await garden.apply(aShoot({ name: 'halted' }));
    const halted = await garden.waitForShoot('halted', 'half-way', ({ status }) => status.lastOperation?.progress > 30);
    garden.cloud.admin.advanceClock(60_000);

    const still = await garden.readShoot('halted');
    garden.cloud.admin.garden.clearShootFaults();

    expect(still.status.lastOperation).toEqual(halted.status.lastOperation);
    await garden.waitForShoot('halted', 'healthy', isHealthy);
  });
});

describe('the provider token of a Shoot', () => {
  const useToken = async (name: string, token: string) => {
    await garden.apply(aSecret(name, token));
    await garden.apply(aBinding(name));
    return { spec: { credentialsBindingName: name } };
  };

  it('is verified at the provider: an unknown one fails the flow', async () => {
    await garden.apply(aShoot({ name: 'unknown', ...(await useToken('bad', 'never-heard-of')) }));

    const shoot = await garden.waitForShoot('unknown', 'failed', hasState('Failed'));

    expect(shoot.status.lastErrors[0]).toMatchObject({
      codes: ['ERR_INFRA_UNAUTHENTICATED'],
      taskID: 'Waiting until shoot infrastructure has been reconciled',
    });
  });

  it('that is read-only fails the flow with another code', async () => {
    garden.cloud.admin.addProjectToken('reader', { readOnly: true });
    await garden.apply(aShoot({ name: 'reading', ...(await useToken('reads', 'reader')) }));

    const shoot = await garden.waitForShoot('reading', 'failed', hasState('Failed'));

    expect(shoot.status.lastErrors[0].codes).toEqual(['ERR_INFRA_UNAUTHORIZED']);
  });

  it('is read again when a reconciliation of the Shoot is requested', async () => {
    await garden.createReady({ name: 'rotated', ...(await useToken('rot', 'fresh-token')) });
    garden.cloud.admin.rejectToken('fresh-token');
    await annotate('rotated', 'reconcile');
    await garden.waitForShoot('rotated', 'failed', hasState('Failed', 'Reconcile'));

    await useToken('rot', TOKEN);
    await annotate('rotated', 'retry');

    await garden.waitForShoot('rotated', 'healthy', isHealthy);
  });

  it('determines the project in which the nodes are servers, even after it is rejected', async () => {
    garden.cloud.admin.addProjectToken('maker');
    garden.cloud.admin.addProjectToken('other');
    await garden.createReady({ name: 'seen', ...(await useToken('sees', 'maker')) });
    garden.cloud.admin.addProjectToken('second', { sameProjectAs: 'maker' });
    const selector = new URLSearchParams({ label_selector: 'mcm.gardener.cloud/cluster in (none,shoot--acme--seen)' });
    const serversOf = async (token: string) =>
      (await garden.cloud.call('GET', `/servers?${selector}`, undefined, { Authorization: `Bearer ${token}` })).body
        .servers as Part[];
    const names = async (token: string) => (await serversOf(token)).map(({ name }) => name);

    const [node] = await serversOf('maker');
    garden.cloud.admin.rejectToken('maker');

    expect(node.name).toMatch(/^shoot--acme--seen-/);
    expect(await names('second')).toContain(node.name);
    expect(await names('other')).toEqual([]);
  });

  it("is accepted by the provider's API, which answers 401 after it is rejected", async () => {
    garden.cloud.admin.addProjectToken('probe');
    const ask = (path: string) => garden.cloud.call('GET', path, undefined, { Authorization: 'Bearer probe' });

    const known = await ask('/placement_groups');
    const [zones, zone] = [await ask('/zones'), await ask('/zones/example.net')];
    garden.cloud.admin.rejectToken('probe');
    const rejected = await ask('/placement_groups');

    expect([known.status, known.body.placement_groups]).toEqual([200, []]);
    expect([zones.body.zones, zone.status]).toEqual([[], 404]);
    expect([rejected.status, rejected.body.error.code]).toEqual([401, 'unauthorized']);
  });
});

describe('credentials in use', () => {
  it('cannot be deleted before the last Shoot', async () => {
    const bindings = `/apis/security.gardener.cloud/v1alpha1/namespaces/${NAMESPACE}/credentialsbindings`;
    await garden.apply(aSecret('used', TOKEN));
    await garden.apply(aBinding('used'));
    const annotations = { 'confirmation.gardener.cloud/deletion': 'true' };
    await garden.createReady({ name: 'user', annotations, spec: { credentialsBindingName: 'used' } });

    await garden.call('DELETE', `${bindings}/used`);
    await garden.call('DELETE', `/api/v1/namespaces/${NAMESPACE}/secrets/used`);
    const kept = await garden.call('GET', `${bindings}/used`);
    await garden.call('DELETE', `${SHOOTS}/user`);
    await garden.waitForShoot('user', 'gone', ({ code }) => code === 404);

    expect(kept.body.metadata.deletionTimestamp).toBeDefined();
    await expectGone(`${bindings}/used`);
    await expectGone(`/api/v1/namespaces/${NAMESPACE}/secrets/used`);
  });
});

async function expectGone(path: string): Promise<void> {
  const { waitFor } = await import('@corral/testing');
  await waitFor(`${path} to be gone`, async () => (await garden.call('GET', path)).status === 404);
}

describe('a control plane migration', () => {
  it('runs Migrate, leaves the Shoot without a seed, and runs Restore', async () => {
    await garden.createReady({ name: 'migrant' });
    const { body } = await garden.call('GET', SHOOTS);
    const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

    garden.cloud.admin.garden.migrateShoot(NAMESPACE, 'migrant');
    const restored = await garden.waitForShoot(
      'migrant',
      'restored',
      (shoot) => hasState('Succeeded', 'Restore')(shoot) && isHealthy(shoot),
    );
    stream.stop();

    const steps = stream.events.map(({ object: { spec, status } }) =>
      [spec.seedName, status.seedName ?? null, status.lastOperation.type, status.lastOperation.state].join(' '),
    );
    expect([...new Set(steps)]).toEqual([
      'seed-eu-2 seed-eu Create Succeeded',
      'seed-eu-2 seed-eu Migrate Processing',
      'seed-eu-2  Migrate Succeeded',
      'seed-eu-2 seed-eu-2 Restore Processing',
      'seed-eu-2 seed-eu-2 Restore Succeeded',
    ]);
    expect(stream.events.some(({ object }) => object.status.migrationStartTime !== undefined)).toBe(true);
    expect(restored.status.migrationStartTime).toBeUndefined();
  });
});

describe('machines', () => {
  const machines = (name: string) =>
    garden.cloud.admin.garden.contents().shoots.find((shoot) => shoot.name === name)?.machines ?? {};
  const edit = async (name: string, workers: Part[]) => {
    await garden.patch(name, { spec: { provider: { workers } } });
    await garden.waitForShoot(name, 'healthy', isHealthy);
  };

  it('match the minimum, stay when only counts or labels change, and are replaced when their template changes', async () => {
    await garden.createReady({ name: 'rolling', workers: [aWorker({ minimum: 2 }), aWorker({ name: 'pool-b' })] });
    const first = machines('rolling');
    await edit('rolling', [aWorker({ minimum: 3, labels: { a: 'b' } }), aWorker({ name: 'pool-b' })]);
    const second = machines('rolling');
    await edit('rolling', [aWorker({ minimum: 3, machine: { type: 'cpx41' } })]);
    const third = machines('rolling');

    expect(first['pool-a']).toHaveLength(2);
    expect(first['pool-a']?.[0]).toMatch(/^shoot--acme--rolling-pool-a-hel1-dc2-[a-z0-9]{5}-[a-z0-9]{5}$/);
    expect(second['pool-a']).toEqual([...(first['pool-a'] ?? []), expect.any(String)]);
    expect(second['pool-b']).toEqual(first['pool-b']);
    expect(Object.keys(third)).toEqual(['pool-a']);
    expect(third['pool-a']?.filter((name) => second['pool-a']?.includes(name))).toEqual([]);
  });
});
