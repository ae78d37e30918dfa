import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { anAuthority } from './a-certificate.js';
import { aKubeconfig, answerJson, aShootName, aStatus } from './a-garden.js';
import { aNode, asAnswered, nodeAt, type RunningShoot, saying, startShoot } from './a-shoot.js';

let shoot: RunningShoot;

beforeEach(async () => {
  shoot = await startShoot();
  shoot.routes = { [`GET ${nodeAt}`]: saying(200, aNode()), [`PATCH ${nodeAt}`]: saying(200, aNode()) };
});

afterEach(async () => {
  jest.useRealTimers();
  await shoot.close();
});

const read = (name = aShootName.name) => shoot.client.nodes.readNode({ ...aShootName, name }, 'web-1');
const write = () => shoot.client.nodes.patchNode(aShootName, 'web-1', { labels: {} });
const users = () => shoot.requests.map(({ user }) => user);

/** Advances all clocks. Running timers keep the real time. */
function wait(seconds: number): void {
  const doNotFake = ['nextTick', 'setImmediate', 'queueMicrotask', 'setTimeout', 'setInterval'] as const;
  const monotonic = performance.now();
  jest.useFakeTimers({ now: Date.now() + seconds * 1_000, doNotFake: [...doNotFake] });
  // A faked monotonic clock begins at 0.
  jest.advanceTimersByTime(monotonic + seconds * 1_000);
}

describe('the kubeconfig of a shoot', () => {
  it('is requested once per hour, however many calls use it', async () => {
    const asked: unknown[] = [];
    await Promise.all(Array.from({ length: 10 }, () => read()));
    for (let n = 0; n < 10; n += 1) await write();

    expect(shoot.issued).toEqual(['admin-1']);
    expect(new Set(users())).toEqual(new Set(['admin-1']));

    shoot.garden = ({ body }, response) => {
      asked.push(JSON.parse(body).spec);
      answerJson(response, 503, {});
    };
    await expect(read('other')).rejects.toThrow();
    expect(asked[0]).toEqual({ expirationSeconds: 3_600 });
  });

  it('is separate for each shoot', async () => {
    await read('one');
    await read('two');

    expect(users()).toEqual(['admin-1', 'admin-2']);
  });

  it.each([
    ['all that was asked for', 3_600, 1_700, 1_900],
    ['less', 600, 290, 310],
    ['next to nothing, by our clock', -5_000, 20, 40],
    ['more than was asked for, by our clock', 90_000, 1_700, 1_900],
  ])('is renewed after half its lifetime when the garden grants %s', async (_what, granted, before, after) => {
    shoot.grantedSeconds = granted;
    await read();

    wait(before);
    await read();
    expect(shoot.issued).toHaveLength(1);
    jest.useRealTimers();

    wait(after);
    await read();
    expect(users().at(-1)).toBe('admin-2');
  });

  it('is used until it expires while the garden is unavailable, and no longer', async () => {
    await read();
    shoot.garden = (_request, response) => answerJson(response, 503, {});

    wait(3_500);
    await read();
    expect(users()).toEqual(['admin-1', 'admin-1']);
    jest.useRealTimers();

    wait(3_700);
    await expect(read()).rejects.toMatchObject({ kind: 'server_error', fromShoot: false });
  });

  it.each([
    ['401', () => shoot.refused.add('admin-1')],
    [
      '403',
      () => {
        const message = 'nodes "web-1" is forbidden: User "system:anonymous" cannot get resource "nodes"';
        const answer = (status: number) =>
          saying(status, status === 200 ? aNode() : aStatus(403, 'Forbidden', message));
        for (const route of Object.keys(shoot.routes)) {
          shoot.routes[route] = (request, response) =>
            answer(request.user === 'admin-1' ? 403 : 200)(request, response);
        }
      },
    ],
  ])('is renewed when the shoot answers %s, and the call is repeated once, even a write', async (_what, refuse) => {
    await read();
    refuse();

    await Promise.all([read(), write(), read()]);
    await read();

    expect(shoot.issued).toEqual(['admin-1', 'admin-2']);
  });

  it('is renewed when the shoot has a new authority, which never receives the old one', async () => {
    shoot.routes[`GET ${nodeAt}`] = (_request, response) => answerJson(response, 200, aNode(), { Connection: 'close' });
    await read();
    await shoot.moveTo(await anAuthority('another'));
    shoot.requests.length = 0;

    await write();

    expect(users()).toEqual(['admin-2']);
  });

  it('is renewed only once when the shoot refuses every kubeconfig', async () => {
    await read();
    for (const user of ['admin-1', 'admin-2', 'admin-3']) shoot.refused.add(user);

    await expect(read()).rejects.toMatchObject({ kind: 'credentials' });
    expect(shoot.issued).toHaveLength(2);
    await expect(write()).rejects.toMatchObject({ kind: 'credentials' });
    expect(shoot.issued).toHaveLength(3);
    expect(shoot.logged.join()).toContain('shoot denies access');
    expect(shoot.logged.join()).not.toContain('garden denies access');
  });

  it('is evicted when many other shoots were called since', async () => {
    await shoot.close();
    shoot = await startShoot({ shootKubeconfigsMax: 2 });

    for (const name of ['one', 'two', 'one', 'three', 'one']) await read(name);
    expect(shoot.issued).toHaveLength(3);
    await read('two');
    expect(shoot.issued).toHaveLength(4);
  });

  it.each<[string, object, object]>([
    ['runs a program', { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/true' } }, {}],
    ['names a token file', { tokenFile: '/etc/hostname' }, {}],
    ['names a key file', { 'client-certificate': '/etc/hostname', 'client-key': '/etc/hostname' }, {}],
    ['names a file with an authority', { token: 'a' }, { 'certificate-authority': '/etc/hostname' }],
    ['has no valid address', { token: 'a' }, { server: 'nowhere' }],
    ['would send its token unencrypted', { token: 'a' }, { server: 'http://api.example.com' }],
  ])('is rejected when it %s', async (_what, user, cluster) => {
    const kubeconfig = asAnswered(aKubeconfig('https://127.0.0.1:1', user, cluster));
    shoot.garden = (_request, response) =>
      answerJson(response, 201, { status: { kubeconfig, expirationTimestamp: '2100-01-01T00:00:00Z' } });

    await expect(read()).rejects.toMatchObject({ kind: 'unusable' });
  });

  it('is unavailable while the control plane has no address: the shoot is unreachable', async () => {
    const details = { name: 'c1234567', kind: 'AdminKubeconfigRequest' };
    shoot.garden = (_request, response) =>
      answerJson(response, 422, aStatus(422, 'Invalid', 'no suitable advertised address', details));

    await expect(read()).rejects.toMatchObject({ kind: 'unreachable' });
  });

  it('can be refused by a policy of the garden, which is no silence of the shoot', async () => {
    const message = `ValidatingAdmissionPolicy 'no-admins' with binding 'no-admins' denied request: ask first`;
    shoot.garden = (_request, response) => answerJson(response, 422, aStatus(422, 'Invalid', message));

    const denial = { by: 'no-admins', words: 'ask first' };
    await expect(read()).rejects.toMatchObject({ kind: 'refused', denial, fromShoot: false });
  });

  it('is unavailable for an absent shoot, which has no nodes', async () => {
    shoot.garden = (_request, response) =>
      answerJson(response, 404, aStatus(404, 'NotFound', 'shoots "c1234567" not found', { name: 'c1234567' }));
    const { nodes } = shoot.client;

    expect(await read()).toBeNull();
    expect(await nodes.evictPods(aShootName, 'web-1')).toBe(0);
    await nodes.deleteNode(aShootName, 'web-1');
    await expect(write()).rejects.toMatchObject({ kind: 'not_found' });
    const join = nodes.joinData(aShootName, { nodeName: 'web-1', architecture: 'amd64', tokenSeconds: 60 });
    await expect(join).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is still requested for one caller when another has given up', async () => {
    const answers: (() => void)[] = [];
    const own = shoot.garden;
    shoot.garden = (_request, response) => answers.push(() => answerJson(response, 503, {}));
    const stop = new AbortController();
    const given = shoot.client.nodes.readNode(aShootName, 'web-1', stop.signal);
    const waiting = read();
    stop.abort();

    await expect(given).rejects.toMatchObject({ kind: 'unreachable' });
    shoot.garden = own;
    for (const answer of answers) answer();
    expect(await waiting).toMatchObject({ name: 'web-1' });
  });

  it('is released when the client closes: no connection stays open', async () => {
    await read();
    await shoot.client.close();

    await expect(read()).rejects.toMatchObject({ kind: 'unreachable' });
  });
});
