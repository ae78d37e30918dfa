import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aWorker, NAMESPACE } from './a-shoot.js';
import { SHOOTS, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
  await garden.createReady({ name: 'there' });
});
afterEach(() => install());
afterAll(() => garden.stop());

const install = (...admission: object[]) => garden.cloud.callAdmin('PATCH', '/garden/settings', { admission });
const scale = (name: string, maximum: number) => {
  const spec = { provider: { workers: [aWorker({ maximum })] } };
  return garden.call('PATCH', `${SHOOTS}/${name}?dryRun=All`, { spec }, 'application/merge-patch+json');
};

describe('what operators install in the garden', () => {
  it('is a policy that refuses what it looks for, with its message', async () => {
    await install({ name: 'small', kind: 'policy', when: '"maximum":9', message: 'at most 5 nodes' });

    const [refused, accepted] = [await scale('there', 9), await scale('there', 5)];

    const why = "ValidatingAdmissionPolicy 'small' with binding 'small' denied request: at most 5 nodes";
    expect([refused.status, refused.body, accepted.status]).toEqual([
      422,
      expect.objectContaining({
        reason: 'Invalid',
        message: `shoots.core.gardener.cloud "there" is forbidden: ${why}`,
        details: expect.objectContaining({ name: 'there', causes: [{ message: why }] }),
      }),
      200,
    ]);
  });

  it.each([
    ['with its message', { message: 'no' }, 'admission webhook "own.example.org" denied the request: no'],
    ['without one', {}, 'admission webhook "own.example.org" denied the request without explanation'],
  ])('is a webhook that refuses %s', async (_what, more, message) => {
    await install({ name: 'own.example.org', kind: 'webhook', ...more });

    expect(await scale('there', 5)).toMatchObject({ status: 403, body: { reason: 'Forbidden', message } });
  });

  it('is a webhook that does not answer, for writes in one namespace', async () => {
    const dead = { name: 'own.example.org', kind: 'dead webhook' };

    await install({ ...dead, namespace: 'garden-other' });
    const elsewhere = await scale('there', 5);
    await install({ ...dead, namespace: NAMESPACE });
    const here = await scale('there', 5);
    const read = await garden.call('GET', `${SHOOTS}/there`);

    expect([elsewhere.status, here.status, read.status]).toEqual([200, 500, 200]);
    expect(here.body).toMatchObject({
      reason: 'InternalError',
      message: expect.stringMatching(
        /^Internal error occurred: failed calling webhook "own\.example\.org": failed to call webhook: /,
      ),
    });
  });

  it('refuses deletions, and other kinds, where it says so', async () => {
    await install(
      { name: 'frozen', kind: 'policy', operations: ['DELETE'], message: 'nothing is deleted in December' },
      { name: 'secretive', kind: 'webhook', resource: 'secrets' },
    );
    await garden.patch('there', { metadata: { annotations: { 'confirmation.gardener.cloud/deletion': 'true' } } });

    const deleted = await garden.call('DELETE', `${SHOOTS}/there`);
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'more', namespace: NAMESPACE } };
    const created = await garden.call('POST', `/api/v1/namespaces/${NAMESPACE}/secrets?dryRun=All`, secret);

    expect([deleted.status, created.status]).toEqual([422, 403]);
    expect(deleted.body.message).toContain('nothing is deleted in December');
  });
});
