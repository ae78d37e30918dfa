import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aShoot, NAMESPACE } from './a-shoot.js';
import { hasState, isHealthy, SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
});
afterAll(() => garden.stop());

const admin = (method: string, path: string, body?: unknown) => garden.cloud.callAdmin(method, path, body);

describe('the admin address', () => {
  it('shows what the garden holds, of Secrets the keys only', async () => {
    const { metadata } = await garden.createReady({ name: 'shown' });

    const { text, body } = await admin('GET', '/garden/contents');

    expect(body).toMatchObject({
      namespaces: expect.arrayContaining(['garden-acme']),
      projects: [{ name: 'acme', namespace: 'garden-acme' }],
      secrets: [{ namespace: 'garden-acme', name: 'conn', keys: ['hcloudToken'] }],
      credentialsBindings: [{ namespace: 'garden-acme', name: 'conn' }],
      openWatches: 0,
    });
    expect(body.shoots).toContainEqual({
      namespace: NAMESPACE,
      name: 'shown',
      uid: metadata.uid,
      generation: 2,
      observedGeneration: 2,
      seedName: 'seed-eu',
      hibernated: false,
      deletionTimestamp: null,
      lastOperation: expect.objectContaining({ state: 'Succeeded' }),
      machines: { 'pool-a': [expect.stringMatching(/^shoot--acme--shown-pool-a-/)] },
    });
    expect(text).not.toContain(Buffer.from('t'.repeat(64)).toString('base64'));
  });

  it('hands out the kubeconfig of the garden', async () => {
    const { status, text } = await admin('GET', '/garden/kubeconfig');

    expect([status, text]).toEqual([200, garden.cloud.gardenKubeconfig]);
  });

  it('lists every Shoot that ever was', async () => {
    await garden.createReady({ name: 'twice' });
    await admin('DELETE', `/garden/shoots/${NAMESPACE}/twice`);
    await garden.createReady({ name: 'twice' });

    const { body } = await admin('GET', '/garden/shoot-history');

    expect(body.shoots.filter(({ name }: { name: string }) => name === 'twice')).toMatchObject([
      { namespace: NAMESPACE, deletedAt: expect.any(String) },
      { namespace: NAMESPACE, deletedAt: null },
    ]);
  });

  it('makes flows fail, lists how often, and clears', async () => {
    const fault = { namespace: NAMESPACE, effect: { codes: ['ERR_INFRA_QUOTA_EXCEEDED'], message: 'full' } };
    const added = await admin('POST', '/garden/shoot-faults', fault);
    await garden.apply(aShoot({ name: 'failing' }));
    await garden.waitForShoot('failing', 'failed', hasState('Failed'));

    const listed = await admin('GET', '/garden/shoot-faults');
    const cleared = await admin('DELETE', '/garden/shoot-faults');

    expect([added.status, cleared.status]).toEqual([201, 204]);
    expect(listed.body.faults).toEqual([{ ...fault, id: expect.any(Number), hits: 1, remaining: 0 }]);
    expect((await admin('GET', '/garden/shoot-faults')).body).toEqual({ faults: [] });
  });

  it('moves a control plane, edits as somebody else, and lets a Shoot vanish', async () => {
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

  it('changes how fast Shoots are, and other settings', async () => {
    const changed = await admin('PATCH', '/garden/settings', { createMs: 50, authorityIn: 'nowhere' });
    const read = await admin('GET', '/garden/settings');
    await admin('PATCH', '/garden/settings', { authorityIn: 'configmap' });

    expect(read.body).toEqual(changed.body);
    expect(read.body).toMatchObject({
      createMs: 50,
      reconcileMs: 40,
      authorityIn: 'nowhere',
      kubeconfigSecondsMax: 86_400,
    });
  });

  it('drops watches', async () => {
    const stream = await garden.watch(`${SHOOTS}?watch=1`);

    const { status } = await admin('POST', '/garden/watches/drop', { expireHistory: true });
    await stream.ended;

    expect(status).toBe(204);
  });

  it('adds and rejects tokens of projects', async () => {
    const added = await admin('POST', '/project-tokens', { token: 'new', readOnly: true });
    const rejected = await admin('DELETE', '/project-tokens/new');

    expect([added.status, rejected.status]).toEqual([201, 204]);
    expect(added.body.tokens).toContainEqual(expect.objectContaining({ token: 'new', readOnly: true }));
    expect((await admin('GET', '/project-tokens')).body.tokens).toHaveLength(1);
  });

  it.each([
    ['POST', '/garden/shoot-faults', { effect: { codes: ['ERR_WHAT'] } }],
    ['POST', '/garden/shoot-faults', {}],
    ['PATCH', '/garden/settings', { speed: 1 }],
    ['PATCH', '/garden/settings', { createMs: -1 }],
    ['DELETE', '/garden/shoots/garden-acme/nothing', undefined],
    ['POST', '/garden/shoots/garden-acme/nothing/migration', undefined],
    ['PATCH', '/garden/shoots/garden-acme/nothing', {}],
    ['POST', '/project-tokens', {}],
  ])('says what is wrong with %s %s %j', async (method, path, body) => {
    const answer = await admin(method, path, body);

    expect([answer.status, answer.body]).toEqual([400, { error: expect.any(String) }]);
  });
});
