import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aShoot } from './a-shoot.js';
import { hasState, isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
});
afterAll(() => garden.stop());

describe('a Shoot', () => {
  it('is created through Processing and becomes healthy', async () => {
    const { body } = await garden.call('GET', SHOOTS);
    const stream = await garden.watch(`${SHOOTS}?watch=1&resourceVersion=${body.metadata.resourceVersion}`);

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
      spec: { seedName: 'seed-eu' },
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
    expect(shoot.status.conditions.map(({ status }: { status: string }) => status)).toEqual(Array(5).fill('True'));
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
    expect(asleep.status.conditions[0]).toMatchObject({ status: 'True', reason: 'ConditionNotChecked' });
    expect(asleep.status.constraints[0]).toMatchObject({ status: 'True', reason: 'ConstraintNotChecked' });
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

    expect([unconfirmed.status, wrongUid.status, deleted.status, again.status, edited.status]).toEqual([
      403, 409, 200, 200, 422,
    ]);
    expect(unconfirmed.body.message).toBe(
      'shoots.core.gardener.cloud "leaving" is forbidden: must have a "confirmation.gardener.cloud/deletion" annotation to delete',
    );
    expect(deleted.body.metadata).toMatchObject({ deletionTimestamp: expect.any(String), generation: 3 });
    expect(again.body.metadata.deletionTimestamp).toBe(deleted.body.metadata.deletionTimestamp);
    await garden.waitForShoot('leaving', 'gone', ({ code }) => code === 404);
  });

  it('that was never reconciled is deleted immediately', async () => {
    const annotations = { 'confirmation.gardener.cloud/deletion': 'true' };
    await garden.cloud.admin.garden.changeSettings({ createMs: 60_000 });
    await garden.apply(aShoot({ name: 'early', annotations }));

    const deleted = await garden.call('DELETE', `${SHOOTS}/early`);
    const { status } = await garden.call('GET', `${SHOOTS}/early`);
    await garden.cloud.admin.garden.changeSettings({ createMs: 40 });

    expect([deleted.body.kind, deleted.body.status, status]).toEqual(['Status', 'Success', 404]);
  });

  it('edited during a flow is reconciled once more, with the latest spec', async () => {
    await garden.createReady({ name: 'edited' });
    await garden.patch('edited', { spec: { purpose: 'testing' } });
    await garden.waitForShoot('edited', 'at work', hasState('Processing'));

    await garden.patch('edited', { spec: { purpose: 'development' } });
    const { body } = await garden.patch('edited', { spec: { purpose: 'production' } });
    const shoot = await garden.waitForShoot('edited', 'healthy', isHealthy);

    expect(shoot.status.observedGeneration).toBe(body.metadata.generation);
  });
});
