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
  it('gets a namespace of a name that nobody could compute', async () => {
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

  it('adopts a namespace that is labelled as its own, and no other', async () => {
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

  it('keeps the namespace it was given', async () => {
    const body = { spec: { namespace: 'garden-other' } };

    const { status } = await garden.call('PATCH', `${PROJECTS}/acme`, body, 'application/merge-patch+json');

    expect(status).toBe(422);
  });

  it('goes with its namespace, when that is confirmed and no Shoot is left', async () => {
    await garden.createReady();
    const confirm = (name: string) =>
      garden.call(
        'PATCH',
        `${PROJECTS}/${name}`,
        { metadata: { annotations: { 'confirmation.gardener.cloud/deletion': 'true' } } },
        'application/merge-patch+json',
      );
    await garden.apply(aProject('leaving'));
    await untilReady('leaving');

    const unconfirmed = await garden.call('DELETE', `${PROJECTS}/leaving`);
    await confirm('leaving');
    await confirm('acme');
    const full = await garden.call('DELETE', `${PROJECTS}/acme`);
    await garden.call('DELETE', `${PROJECTS}/leaving`);

    expect([unconfirmed.status, full.status]).toEqual([403, 403]);
    await waitFor('the Project to be gone', async () => (await read('leaving')).code === 404);
    expect((await garden.call('GET', '/api/v1/namespaces/garden-leaving')).status).toBe(404);
  });

  it('cannot lose its namespace while there are Shoots, and loses what is in it otherwise', async () => {
    await garden.createReady({ name: 'inside' });
    await garden.call('POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
    await garden.call('POST', '/api/v1/namespaces/other/secrets', { metadata: { name: 'a' } });

    const full = await garden.call('DELETE', '/api/v1/namespaces/garden-acme');
    const empty = await garden.call('DELETE', '/api/v1/namespaces/other');

    expect([full.status, empty.status]).toEqual([409, 200]);
    expect((await garden.call('GET', '/api/v1/namespaces/other/secrets/a')).status).toBe(404);
  });

  it('lets one account delete a Shoot only when a second one need not confirm', async () => {
    await garden.createReady({ name: 'dual', annotations: { 'confirmation.gardener.cloud/deletion': 'true' } });
    const approve = (includeServiceAccounts: boolean) =>
      garden.call(
        'PATCH',
        `${PROJECTS}/acme`,
        { spec: { dualApprovalForDeletion: [{ resource: 'shoots', selector: {}, includeServiceAccounts }] } },
        'application/merge-patch+json',
      );
    const path = '/apis/core.gardener.cloud/v1beta1/namespaces/garden-acme/shoots/dual';

    await approve(true);
    const refused = await garden.call('DELETE', path);
    await approve(false);
    const accepted = await garden.call('DELETE', path);

    expect([refused.status, accepted.status]).toEqual([403, 200]);
    expect(refused.body.message).toContain('another subject must perform the deletion');
  });
});
