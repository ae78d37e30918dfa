import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aProject, startTestGarden, type TestGarden } from './start-test-garden.js';

let garden: TestGarden;
beforeAll(async () => {
  garden = await startTestGarden();
});
afterAll(() => garden.stop());

const PROJECTS = '/apis/core.gardener.cloud/v1beta1/projects';
const read = async (name: string) => (await garden.call('GET', `${PROJECTS}/${name}`)).body;
const untilReady = (name: string) =>
  waitFor(`${name} to be Ready`, async () => {
    const project = await read(name);
    return project.status?.phase === 'Ready' && project;
  });

describe('a Project', () => {
  it('gets an unpredictable namespace', async () => {
    const { status, body } = await garden.apply({ ...aProject('globex'), spec: {} });

    const ready = await untilReady('globex');
    const namespace = await garden.call('GET', `/api/v1/namespaces/${ready.spec.namespace}`);

    expect([status, body.spec.namespace, body.status]).toEqual([201, undefined, undefined]);
    expect(ready.spec.namespace).toMatch(/^garden-globex-[0-9a-f]{5}$/);
    expect(namespace.body.metadata.labels).toMatchObject({
      'gardener.cloud/role': 'project',
      'project.gardener.cloud/name': 'globex',
    });
  });

  it('adopts a namespace with its own label, and no other', async () => {
    const labels = { 'gardener.cloud/role': 'project', 'project.gardener.cloud/name': 'mine' };
    const make = (name: string, labelled: object) =>
      garden.call('POST', '/api/v1/namespaces', { metadata: { name, labels: labelled } });
    await make('garden-mine', labels);
    await make('garden-theirs', {});

    await garden.apply(aProject('mine'));
    await garden.apply(aProject('theirs'));

    await untilReady('mine');
    await waitFor('theirs to have failed', async () => (await read('theirs')).status?.phase === 'Failed');
  });

  it('is applied again without a conflict once its namespace is known', async () => {
    await garden.apply({ ...aProject('again'), spec: {} });
    await untilReady('again');

    const { status } = await garden.apply({ ...aProject('again'), spec: { description: 'a project' } });

    expect(status).toBe(200);
    expect((await read('again')).spec.namespace).toMatch(/^garden-again-/);
  });

  it.each([
    [aProject('elevenchars'), 'must not exceed 10 characters'],
    [aProject('a--b'), 'two consecutive hyphens'],
    [aProject('short', 'elsewhere'), 'must start with garden-'],
  ])('%j is invalid', async (project, message) => {
    const { status, body } = await garden.apply(project);

    expect([status, body.message]).toEqual([422, expect.stringContaining(message)]);
  });

  it('keeps the namespace that it has', async () => {
    const body = { spec: { namespace: 'garden-other' } };

    const { status } = await garden.call('PATCH', `${PROJECTS}/acme`, body, 'application/merge-patch+json');

    expect(status).toBe(422);
  });
});
