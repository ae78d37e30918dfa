import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aBinding, aSecret, aShoot, aWorker, NAMESPACE, type ShootFields } from './objects.js';
import { hasState, isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

// biome-ignore lint/suspicious/noExplicitAny: parts of objects are picked apart
type Part = any;

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
});
afterEach(() => garden.cloud.admin.garden.clearShootFaults());
afterAll(() => garden.stop());

const fail = (name: string, effect: object, times: number | null = 1) =>
  garden.cloud.admin.garden.addShootFaults({ namespace: NAMESPACE, name, times, effect });
const watchAll = async () => {
  const { body } = await garden.call('GET', SHOOTS);
  return garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);
};

describe('a Shoot', () => {
  it('is created through Processing and becomes healthy', async () => {
    const stream = await watchAll();

    const created = await garden.apply(aShoot({ name: 'created' }));
    const shoot = await garden.waitForShoot('created', 'healthy', isHealthy);
    stream.stop();

    const states = stream.events.map(({ object }) => object.status.lastOperation?.state ?? 'none');
    const progress = stream.events.map(({ object }) => object.status.lastOperation?.progress ?? -1);
    expect([...new Set(states)]).toEqual(['none', 'Processing', 'Succeeded']);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect([created.status, created.body.metadata.generation, shoot.metadata.generation]).toEqual([201, 1, 2]);
    expect(shoot).toMatchObject({
      metadata: { finalizers: ['gardener'] },
      status: {
        technicalID: 'shoot--acme--created',
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        seedName: 'seed-eu',
        observedGeneration: 2,
        hibernated: false,
        lastOperation: { type: 'Create', state: 'Succeeded', progress: 100 },
        advertisedAddresses: [{ name: 'external' }, { name: 'internal' }],
      },
    });
  });

  it('hibernates and resumes on request', async () => {
    await garden.createReady({ name: 'sleepy' });

    await garden.patch('sleepy', { spec: { hibernation: { enabled: true } } });
    const asleep = await garden.waitForShoot(
      'sleepy',
      'asleep',
      (shoot) => shoot.status.hibernated && isHealthy(shoot),
    );
    await garden.patch('sleepy', { spec: { hibernation: { enabled: false } } });
    const awake = await garden.waitForShoot('sleepy', 'awake', (shoot) => !shoot.status.hibernated && isHealthy(shoot));

    expect(asleep.status.lastOperation.type).toBe('Reconcile');
    expect(asleep.status.conditions[0].reason).toBe('ConditionNotChecked');
    expect(awake.status.conditions[0].reason).toBe('HealthzRequestSucceeded');
  });

  it('is deleted only after a confirmation, and exists until its flow ends', async () => {
    const { metadata } = await garden.createReady({ name: 'leaving' });
    const path = `${SHOOTS}/leaving`;

    const unconfirmed = await garden.call('DELETE', path);
    await garden.patch('leaving', { metadata: { annotations: { 'confirmation.gardener.cloud/deletion': 'true' } } });
    const wrongUid = await garden.call('DELETE', path, { preconditions: { uid: 'another' } });
    const deleted = await garden.call('DELETE', path, { preconditions: { uid: metadata.uid } });
    const again = await garden.call('DELETE', path);
    const edited = await garden.patch('leaving', { spec: { purpose: 'testing' } });

    const statuses = [unconfirmed, wrongUid, deleted, again, edited].map(({ status }) => status);
    expect(statuses).toEqual([403, 409, 200, 200, 422]);
    expect(deleted.body.metadata).toMatchObject({ deletionTimestamp: expect.any(String), generation: 3 });
    await garden.waitForShoot('leaving', 'gone', ({ code }) => code === 404);
  });

  it('edited during a flow is reconciled once more, with the latest spec', async () => {
    await garden.createReady({ name: 'edited' });
    await garden.patch('edited', { spec: { purpose: 'testing' } });
    await garden.waitForShoot('edited', 'at work', hasState('Processing'));

    const { body } = await garden.patch('edited', { spec: { purpose: 'production' } });
    const shoot = await garden.waitForShoot('edited', 'healthy', isHealthy);

    expect(shoot.status.observedGeneration).toBe(body.metadata.generation);
  });
});

describe('a failing flow', () => {
  it.each([
    ['ERR_INFRA_QUOTA_EXCEEDED', 'Failed'],
    ['ERR_INFRA_RESOURCES_DEPLETED', 'Error'],
  ])('with %s ends in %s', async (code, state) => {
    const name = `f-${state.toLowerCase()}`;
    fail(name, { codes: [code], message: 'said the provider' }, null);

    await garden.apply(aShoot({ name }));
    const shoot = await garden.waitForShoot(name, state, hasState(state, 'Create'));

    const description = expect.stringContaining('said the provider');
    expect(shoot.status.lastErrors).toEqual([
      { codes: [code], description, taskID: expect.any(String), lastUpdateTime: expect.any(String) },
    ]);
  });

  it('without a code is retried automatically, and keeps its errors until it succeeds', async () => {
    fail('uncoded', { message: 'error during placement' });
    const stream = await watchAll();

    await garden.apply(aShoot({ name: 'uncoded' }));
    const shoot = await garden.waitForShoot('uncoded', 'healthy', isHealthy);
    stream.stop();

    const own = stream.events.filter(({ object }) => object.metadata.name === 'uncoded');
    const statuses = own.map(({ object }) => object.status);
    const failed = statuses.findIndex(({ lastOperation }) => lastOperation?.state === 'Error');
    const again = statuses[failed + 1];
    expect(again).toMatchObject({ lastOperation: { state: 'Processing', progress: 0 }, lastErrors: [{}] });
    expect(again.retryCycleStartTime).toBe(statuses[failed].retryCycleStartTime);
    expect(shoot.status.lastErrors).toBeUndefined();
  });

  it('is retried on `retry`, but only in state Failed', async () => {
    const annotate = async (operation: string) => {
      const { body } = await garden.patch('retried', {
        metadata: { annotations: { 'gardener.cloud/operation': operation } },
      });
      return [body.metadata.generation, body.metadata.annotations['gardener.cloud/operation']];
    };
    const { metadata } = await garden.createReady({ name: 'retried' });
    const idle = await annotate('retry');
    fail('retried', { codes: ['ERR_INFRA_QUOTA_EXCEEDED'] });
    await garden.patch('retried', { spec: { purpose: 'testing' } });
    const failed = await garden.waitForShoot('retried', 'failed', hasState('Failed', 'Reconcile'));

    const [reconcile, retry] = [await annotate('reconcile'), await annotate('retry')];
    await garden.waitForShoot('retried', 'healthy', isHealthy);

    expect(idle).toEqual([metadata.generation, 'retry']);
    expect(reconcile).toEqual([failed.metadata.generation, 'reconcile']);
    expect(retry).toEqual([failed.metadata.generation + 1, undefined]);
  });

  it('that is stuck stays Processing until the fault is cleared', async () => {
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

  it.each([
    ['an unknown one', 'never-heard-of', 'ERR_INFRA_UNAUTHENTICATED'],
    ['a read-only one', 'looks-on', 'ERR_INFRA_UNAUTHORIZED'],
  ])('is verified at the provider: %s fails the flow', async (_what, token, code) => {
    garden.cloud.admin.addProjectToken('looks-on', { readOnly: true });
    await garden.apply(aShoot({ name: token, ...(await useToken(token, token)) }));

    const shoot = await garden.waitForShoot(token, 'failed', hasState('Failed'));

    expect(shoot.status.lastErrors[0].codes).toEqual([code]);
  });

  it('determines the project in which the nodes are servers, even after it is rejected', async () => {
    garden.cloud.admin.addProjectToken('maker');
    garden.cloud.admin.addProjectToken('other');
    await garden.createReady({ name: 'seen', ...(await useToken('sees', 'maker')) });
    garden.cloud.admin.addProjectToken('second', { sameProjectAs: 'maker' });
    garden.cloud.admin.rejectToken('maker');
    const serversOf = async (token: string): Promise<Part[]> => {
      const selector = new URLSearchParams({
        label_selector: 'mcm.gardener.cloud/cluster in (none,shoot--acme--seen)',
      });
      const headers = { Authorization: `Bearer ${token}` };
      return (await garden.cloud.call('GET', `/servers?${selector}`, undefined, headers)).body.servers;
    };

    expect(await serversOf('second')).toMatchObject([{ name: expect.stringMatching(/^shoot--acme--seen-/) }]);
    expect(await serversOf('other')).toEqual([]);
  });
});

describe('the catalogue', () => {
  const withMachine = (machine: object) => ({ workers: [aWorker({ machine })] });
  it.each<[string, string, ShootFields]>([
    ['an expired version', 'kubernetes.version', { spec: { kubernetes: { version: '1.31.14' } } }],
    ['an unknown region', 'region', { spec: { region: 'moon' } }],
    ['an unusable machine type', 'provider.workers[0].machine.type', withMachine({ type: 'cx11' })],
    [
      'an expired image',
      'provider.workers[0].machine.image.version',
      withMachine({ type: 'cpx31', image: { name: 'ubuntu', version: '22.4.5' } }),
    ],
  ])('refuses a new Shoot with %s', async (_what, field, fields) => {
    const { status, body } = await garden.call('POST', SHOOTS, aShoot({ name: 'judged', ...fields }));

    expect([status, body.message]).toEqual([403, expect.stringContaining(`spec.${field}: `)]);
  });

  it('gives a pool the newest image for its architecture, which it keeps', async () => {
    const pools = [aWorker(), aWorker({ name: 'arm', machine: { type: 'cax11', image: { name: 'ubuntu' } } })];
    const { body } = await garden.apply(aShoot({ name: 'imaged', workers: pools }));
    garden.cloud.admin.garden.expire({ image: { name: 'ubuntu', version: '24.4.1' } });

    const changed = await garden.apply(aShoot({ name: 'imaged', workers: [aWorker({ maximum: 4 }), pools[1]] }));

    const image = { name: 'ubuntu', version: '24.4.1' };
    const machines = [
      { architecture: 'amd64', image },
      { architecture: 'arm64', image },
    ].map((machine) => ({ machine }));
    expect(body.spec.provider.workers).toMatchObject(machines);
    expect(changed.body.spec.provider.workers).toMatchObject(machines);
  });
});
