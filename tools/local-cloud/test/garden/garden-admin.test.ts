import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aShoot, NAMESPACE } from './a-shoot.js';
import { hasState, isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
});
afterAll(() => garden.stop());

const admin = (method: string, path: string, body?: unknown) => garden.cloud.callAdmin(method, path, body);

describe('admin API of the garden', () => {
  it('lists every Shoot that ever existed', async () => {
    await garden.createReady({ name: 'twice' });
    await admin('DELETE', `/garden/shoots/${NAMESPACE}/twice`);
    await garden.createReady({ name: 'twice' });

    const { body } = await admin('GET', '/garden/shoot-history');

    expect(body.shoots.filter(({ name }: { name: string }) => name === 'twice')).toMatchObject([
      { namespace: NAMESPACE, deletedAt: expect.any(String) },
      { namespace: NAMESPACE, deletedAt: null },
    ]);
  });

  it('makes flows fail, and stops that', async () => {
    const fault = { namespace: NAMESPACE, effect: { codes: ['ERR_INFRA_QUOTA_EXCEEDED'], message: 'full' } };
    const added = await admin('POST', '/garden/shoot-faults', fault);
    await garden.apply(aShoot({ name: 'failing' }));
    await garden.waitForShoot('failing', 'failed', hasState('Failed'));

    const cleared = await admin('DELETE', '/garden/shoot-faults');

    expect([added.status, cleared.status]).toEqual([201, 204]);
  });

  it('migrates a control plane, edits as another manager, and removes a Shoot', async () => {
    await garden.createReady({ name: 'poked' });

    const moved = await admin('POST', `/garden/shoots/${NAMESPACE}/poked/migration`);
    await garden.waitForShoot(
      'poked',
      'restored',
      (shoot) => hasState('Succeeded', 'Restore')(shoot) && isHealthy(shoot),
    );
    const edited = await admin('PATCH', `/garden/shoots/${NAMESPACE}/poked`, {
      manager: 'dashboard',
      patch: { spec: { purpose: 'testing' } },
      conditions: [{ type: 'EveryNodeReady', status: 'False', reason: 'NodeDown', message: 'one is gone' }],
    });
    const vanished = await admin('DELETE', `/garden/shoots/${NAMESPACE}/poked`);

    expect([moved.status, edited.status, vanished.status]).toEqual([204, 200, 204]);
    expect(edited.body.spec.purpose).toBe('testing');
    expect(edited.body.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'EveryNodeReady', status: 'False' }),
    );
    expect((await garden.call('GET', `${SHOOTS}/poked`)).status).toBe(404);
  });

  it('changes the durations of Shoots, and other settings', async () => {
    const changed = await admin('PATCH', '/garden/settings', { createMs: 50, authorityIn: 'nowhere' });
    await admin('PATCH', '/garden/settings', { authorityIn: 'configmap' });

    expect(changed.body).toMatchObject({
      createMs: 50,
      reconcileMs: 40,
      authorityIn: 'nowhere',
    });
  });

  it('ends watches', async () => {
    const stream = await garden.watch(`${SHOOTS}?watch=1`);

    const { status } = await admin('POST', '/garden/watches/drop', { expireHistory: true });
    await stream.ended;

    expect(status).toBe(204);
  });

  it('adds and rejects provider tokens of projects', async () => {
    const added = await admin('POST', '/project-tokens', { token: 'new', readOnly: true });
    const rejected = await admin('DELETE', '/project-tokens/new');

    expect([added.status, rejected.status]).toEqual([204, 204]);
  });

  it.each([
    ['POST', '/garden/shoot-faults', {}],
    ['POST', '/garden/expiries', { machineType: 'nope' }],
    ['PATCH', '/garden/settings', { speed: 1 }],
    ['PATCH', '/garden/settings', { createMs: -1 }],
    ['DELETE', '/garden/shoots/garden-acme/nothing', undefined],
    ['POST', '/garden/shoots/garden-acme/nothing/migration', undefined],
    ['PATCH', '/garden/shoots/garden-acme/nothing', {}],
    ['POST', '/project-tokens', {}],
  ])('names the error in %s %s %j', async (method, path, body) => {
    const answer = await admin(method, path, body);

    expect([answer.status, answer.body]).toEqual([400, { error: expect.any(String) }]);
  });
});
