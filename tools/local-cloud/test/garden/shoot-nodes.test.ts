import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aWorker, NAMESPACE } from './a-shoot.js';
import { type ShootClient, shootClient } from './shoot-client.js';
import { startTestGarden, type TestGarden } from './start-test-garden.js';

const NODES = '/api/v1/nodes';

let garden: TestGarden;
let shoot: ShootClient;
let name: string;
beforeAll(async () => {
  garden = await startTestGarden();
  await garden.createReady({ name: 'web', workers: [aWorker({ minimum: 2, labels: { team: 'blue' } })] });
  shoot = await shootClient(garden, 'web');
  name = (await shoot.call('GET', NODES)).body.items[0].metadata.name;
});
afterAll(async () => {
  shoot.close();
  await garden.stop();
});

const patch = (body: object, node = name) => shoot.call('PATCH', `${NODES}/${node}`, body);
const table = async (path: string): Promise<unknown[][]> => {
  const headers = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const { rows } = (await shoot.call('GET', path, undefined, headers)).body;
  return rows.map(({ cells }: { cells: unknown[] }) => cells);
};

describe('a node', () => {
  it('accepts labels and annotations, and their removal', async () => {
    const marks = { labels: { mine: 'yes', team: 'red' }, annotations: { note: 'a' } };

    const marked = await patch({ metadata: marks });

    expect(marked.body.metadata).toMatchObject(marks);
    const { body } = await shoot.call('GET', `${NODES}?labelSelector=mine=yes`);
    expect(body.items).toEqual([marked.body]);
    const back = await patch({ metadata: { labels: { mine: null, team: null }, annotations: { note: null } } });
    expect(back.body.metadata.labels).not.toHaveProperty('mine');
    expect(back.body.metadata.labels).not.toHaveProperty('team');
    expect(Number(back.body.metadata.resourceVersion)).toBeGreaterThan(Number(marked.body.metadata.resourceVersion));
  });

  it('can be cordoned, and shows that in its table row', async () => {
    const cordoned = await patch({ spec: { unschedulable: true } });

    expect(cordoned.body.spec).toMatchObject({ unschedulable: true });
    expect((await table(`${NODES}/${name}`))[0]?.slice(0, 2)).toEqual([name, 'Ready,SchedulingDisabled']);
    const back = await patch({ spec: { unschedulable: null } });
    expect(back.body.spec).toEqual({ providerID: expect.any(String) });
    expect((await table(NODES)).map(([, status]) => status)).toEqual(['Ready', 'Ready']);
  });

  it.each<[string, object, number, string]>([
    ['that is no label', { metadata: { labels: { 'not a key': 'x' } } }, 422, 'metadata.labels'],
    ['of its provider id', { spec: { providerID: 'hcloud://1' } }, 422, 'node updates may only change'],
    ['of its status', { status: { conditions: [] } }, 422, 'node updates may only change'],
    ['from a version that is over', { metadata: { resourceVersion: '0' } }, 409, 'has been modified'],
    ['of another node of its name', { metadata: { uid: 'other' } }, 409, 'Precondition failed'],
    ['of its name', { metadata: { name: 'other' } }, 400, 'name'],
  ])('refuses a change %s', async (_what, body, status, message) => {
    const answer = await patch(body);

    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
  });

  it('is not changed by a dry run', async () => {
    expect((await shoot.call('DELETE', `${NODES}/${name}?dryRun=All`)).status).toBe(400);
  });

  it('that is absent gets 404', async () => {
    expect((await patch({}, 'nothing')).body.message).toBe('nodes "nothing" not found');
    expect((await shoot.call('DELETE', `${NODES}/nothing`)).status).toBe(404);
  });

  it('that stops reporting is not ready, and the Shoot says so without a number, until it reports again', async () => {
    const { silenceNode } = garden.cloud.admin.garden;
    const conditionOf = ({ status }: { status: { conditions: { type: string; status: string }[] } }) =>
      status.conditions.find(({ type }) => type === 'EveryNodeReady')?.status;

    silenceNode(NAMESPACE, 'web', name, true);
    expect((await table(`${NODES}/${name}`))[0]?.slice(0, 2)).toEqual([name, 'NotReady']);
    await garden.waitForShoot('web', 'reported', (found) => conditionOf(found) === 'False');

    silenceNode(NAMESPACE, 'web', name, false);
    expect((await table(`${NODES}/${name}`))[0]?.slice(0, 2)).toEqual([name, 'Ready']);
    await garden.waitForShoot('web', 'well again', (found) => conditionOf(found) === 'True');
  });

  it('of a machine cannot be deleted', async () => {
    const viewer = await shootClient(garden, 'web', 'viewer');

    const answers = [await viewer.call('DELETE', `${NODES}/${name}`), await shoot.call('DELETE', `${NODES}/${name}`)];

    expect(answers.map(({ status }) => status)).toEqual([403, 403]);
    expect(answers[1]?.body.message).toContain('a machine of the Shoot is behind it');
    viewer.close();
  });
});
