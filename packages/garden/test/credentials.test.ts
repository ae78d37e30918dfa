import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { connectGarden } from '../src/index.js';
import {
  aClient,
  aKubeconfig,
  answerJson,
  aShoot,
  aShootName,
  aStatus,
  startServer,
  type TestServer,
} from './a-garden.js';

let folder: string;
let server: TestServer;
/** Tokens that the garden accepts. Others get 401. */
let accepted: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'garden-'));
  accepted = 'Bearer first';
  server = await startServer(({ headers }, response) => {
    if (headers.authorization === accepted) answerJson(response, 200, aShoot());
    else answerJson(response, 401, aStatus(401, 'Unauthorized', 'Unauthorized'));
  });
});

afterEach(async () => {
  jest.restoreAllMocks();
  await server.close();
  rmSync(folder, { recursive: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  // Replaced atomically, like a mounted Secret.
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
  return path;
}

const write = (client: ReturnType<typeof aClient>['client']) => client.applyShoot({ metadata: aShootName, spec: {} });
/** Runs work with all clocks 90 seconds ahead. */
async function after90Seconds(work: () => Promise<unknown>): Promise<void> {
  const now = Date.now() + 90_000;
  const monotonic = performance.now() + 90_000;
  jest.useFakeTimers({ now, doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'setTimeout', 'setInterval'] });
  // A faked monotonic clock begins at 0.
  jest.advanceTimersByTime(monotonic);
  try {
    await work();
  } finally {
    jest.useRealTimers();
  }
}

const tokensSent = () => server.requests.map(({ headers }) => headers.authorization);

describe('a token file', () => {
  it('is found beside the kubeconfig, takes precedence over a token there, and may end with a newline', async () => {
    file('token', 'first\n');
    const kubeconfigPath = file('config', aKubeconfig(server.url, { token: 'other', tokenFile: 'token' }));

    await write(aClient(server.url, { kubeconfigPath }).client);

    expect(tokensSent()).toEqual(['Bearer first']);
  });

  it('is read again when its token is refused, and the call is repeated, even a write', async () => {
    const tokenFile = file('token', 'first');
    const { client, calls } = aClient(server.url, { kubeconfigText: aKubeconfig(server.url, { tokenFile }) });
    await write(client);

    file('token', 'second');
    accepted = 'Bearer second';
    await Promise.all([write(client), client.readShoot(aShootName)]);

    // Either of the two may be answered first.
    const [first, second] = ['Bearer first', 'Bearer second'];
    expect(tokensSent().sort()).toEqual([first, first, first, second, second]);
    expect(calls.map(({ outcome }) => outcome).sort()).toEqual(['credentials', 'credentials', 'ok', 'ok', 'ok']);
  });

  it('is read again periodically, before its token is refused', async () => {
    const tokenFile = file('token', 'first');
    const { client } = aClient(server.url, { kubeconfigText: aKubeconfig(server.url, { tokenFile }) });
    await write(client);
    file('token', 'second');
    accepted = 'Bearer second';

    await after90Seconds(() => write(client));

    expect(tokensSent()).toEqual(['Bearer first', 'Bearer second']);
  });

  it('that disappears does not invalidate the token that was read before until that is refused', async () => {
    const tokenFile = file('token', 'first');
    const { client } = aClient(server.url, { kubeconfigText: aKubeconfig(server.url, { tokenFile }) });
    await write(client);
    rmSync(tokenFile);

    await after90Seconds(() => write(client));
    accepted = 'Bearer second';

    await expect(write(client)).rejects.toMatchObject({ kind: 'credentials' });
    expect(tokensSent()).toEqual(Array(3).fill('Bearer first'));
  });

  it('that is missing is a credentials error, and nothing is sent', async () => {
    const { client, logged } = aClient(server.url, {
      kubeconfigText: aKubeconfig(server.url, { tokenFile: join(folder, 'absent') }),
    });

    await expect(write(client)).rejects.toMatchObject({
      message: 'credentials: our own cannot be read (ENOENT)',
    });
    expect(server.requests).toEqual([]);
    expect(logged.join()).toContain('garden denies access');
  });
});

describe('a kubeconfig file', () => {
  it('is read again when its token is refused', async () => {
    const kubeconfigPath = file('config', aKubeconfig(server.url, { token: 'first' }));
    const { client } = aClient(server.url, { kubeconfigPath });
    await write(client);

    file('config', aKubeconfig(server.url, { token: 'second' }));
    accepted = 'Bearer second';
    await write(client);

    expect(tokensSent()).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
  });

  it.each([
    ['absent', () => rmSync(join(folder, 'config'))],
    ['half', () => file('config', 'clusters: [{')],
  ])('that is %s temporarily does not invalidate what was read before', async (_what, spoil) => {
    const kubeconfigPath = file('config', aKubeconfig(server.url, { token: 'first' }));
    const { client } = aClient(server.url, { kubeconfigPath });
    await write(client);
    spoil();
    accepted = 'Bearer second';

    await expect(write(client)).rejects.toMatchObject({ kind: 'credentials' });

    file('config', aKubeconfig(server.url, { token: 'second' }));
    await write(client);
    expect(tokensSent().at(-1)).toBe('Bearer second');
  });
});

describe('a refused token without a successor', () => {
  it('is a credentials error after one call, and is logged', async () => {
    accepted = 'Bearer other';
    const { client, logged } = aClient(server.url);

    await expect(client.readShoot(aShootName)).rejects.toMatchObject({ kind: 'credentials', status: 401 });
    expect(server.requests).toHaveLength(1);
    expect(logged).toHaveLength(1);
  });
});

describe('an exec plugin', () => {
  /** A plugin that prints the content of the file `token` and logs each run. */
  function aPlugin(script: string): object {
    const command = file('plugin.sh', `#!/bin/sh\necho run >> ${folder}/runs\n${script}\n`);
    chmodSync(command, 0o755);
    return { exec: { apiVersion: 'client.authentication.k8s.io/v1', command } };
  }
  const runs = () =>
    existsSync(join(folder, 'runs')) ? readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n') : [];
  const printing = (expiry: string) =>
    `echo "{\\"status\\": {\\"token\\": \\"$(cat ${folder}/token)\\", \\"expirationTimestamp\\": \\"${expiry}\\"}}"`;
  const later = '2999-01-01T00:00:00Z';

  it('runs once for many calls, and again when its token is refused', async () => {
    file('token', 'first');
    const kubeconfigText = aKubeconfig(server.url, aPlugin(printing(later)));
    const { client } = aClient(server.url, { kubeconfigText, timeoutMs: 10_000 });

    await Promise.all(Array.from({ length: 10 }, () => write(client)));
    expect(runs()).toHaveLength(1);

    file('token', 'second');
    accepted = 'Bearer second';
    await write(client);
    expect(runs()).toHaveLength(2);
  });

  it('that fails is a credentials error, and its output is not logged', async () => {
    const kubeconfigText = aKubeconfig(server.url, aPlugin('echo very-secret >&2; exit 1'));
    const { client, logged } = aClient(server.url, { kubeconfigText, timeoutMs: 10_000 });

    const error = (await write(client).catch((reason: unknown) => reason)) as Error;

    expect(error).toMatchObject({ kind: 'credentials' });
    expect(`${error.stack} ${logged}`).not.toContain('very-secret');
  });

  it('that hangs does not hold a call longer than its timeout', async () => {
    const kubeconfigText = aKubeconfig(server.url, aPlugin('exec sleep 1'));
    const { client } = aClient(server.url, { kubeconfigText, timeoutMs: 100 });

    await expect(write(client)).rejects.toMatchObject({
      message: 'credentials: apply shoots: ours are not there in time',
    });
  });
});

describe('other authentication methods', () => {
  it('include user name and password', async () => {
    accepted = `Basic ${Buffer.from('corral:pass').toString('base64')}`;
    const user = { username: 'corral', password: 'pass' };

    await write(aClient(server.url, { kubeconfigText: aKubeconfig(server.url, user) }).client);

    expect(tokensSent()).toEqual([accepted]);
  });

  it('include impersonation', async () => {
    const user = { token: 'first', as: 'system:serviceaccount:a:b' };

    await write(aClient(server.url, { kubeconfigText: aKubeconfig(server.url, user) }).client);

    expect(server.requests[0]?.headers['impersonate-user']).toBe('system:serviceaccount:a:b');
  });
});

describe('an unusable kubeconfig', () => {
  const options = { cloudProfileName: 'hcloud', log: { warn: () => {}, error: () => {} } };
  const valid = JSON.parse(aKubeconfig('https://garden.test', { token: 'secret-token' }));
  const text = (overrides: object) => JSON.stringify({ ...valid, ...overrides });

  it.each([
    ['is no YAML', 'users: [{token: secret-token', /no valid kubeconfig/],
    ['is empty', '', /no valid kubeconfig/],
    ['has no current context', text({ 'current-context': 'absent' }), /no usable current context/],
    ['has no user', text({ users: [] }), /no usable current context/],
    ['has no cluster', text({ clusters: [] }), /no usable current context/],
    ['has no server address', aKubeconfig('garden', { token: 'secret-token' }), /no usable current context/],
    ['has an odd server address', aKubeconfig('ftp://garden', { token: 'secret-token' }), /no http\(s\) address/],
    [
      'has an odd proxy',
      aKubeconfig('https://garden.test', {}, { 'proxy-url': 'socks5://proxy' }),
      /proxy-url .* no http/,
    ],
    [
      'needs an auth-provider',
      aKubeconfig('https://garden.test', { 'auth-provider': { name: 'oidc' } }),
      /exec plugin/,
    ],
    ['sends its token in the open', aKubeconfig('http://garden.test', { token: 'secret-token' }), /Use https/],
  ])('that %s stops the start, and is not quoted', (_what, kubeconfigText, reason) => {
    const start = () => connectGarden({ ...options, kubeconfigText });

    expect(start).toThrow(reason);
    expect(start).not.toThrow(/secret-token/);
  });

  it('that is absent stops the start', () => {
    expect(() => connectGarden({ ...options, kubeconfigPath: join(folder, 'absent') })).toThrow(
      /cannot be read \(ENOENT\)/,
    );
  });

  it('stops the start when there is no file and no in-cluster configuration', () => {
    expect(() => connectGarden(options)).toThrow(/does not run in a cluster/);
  });

  it('may name http of another host if it waives TLS explicitly', () => {
    const kubeconfigText = aKubeconfig('http://garden.test', { token: 't' }, { 'insecure-skip-tls-verify': true });

    expect(() => connectGarden({ ...options, kubeconfigText })).not.toThrow();
  });
});
