import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parse } from 'yaml';
import { nameContexts } from '../src/credentials/kubeconfig.js';
import { connectGarden } from '../src/index.js';
import { type Authority, anAuthority, base64, type Issued } from './a-certificate.js';
import {
  aClient,
  aKubeconfig,
  answerJson,
  aShoot,
  aShootName,
  aStatus,
  aToken,
  startServer,
  type TestServer,
} from './a-garden.js';

describe('of the garden', () => {
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

      await expect(write(client)).rejects.toMatchObject({ message: 'credentials: our own cannot be read (ENOENT)' });
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

    it('may name http of another host if it waives TLS explicitly', () => {
      const kubeconfigText = aKubeconfig('http://garden.test', { token: 't' }, { 'insecure-skip-tls-verify': true });

      expect(() => connectGarden({ ...options, kubeconfigText })).not.toThrow();
    });
  });
});

describe('a garden behind TLS', () => {
  let authority: Authority;
  let server: Issued;
  let open: { close(): unknown; closeAllConnections(): void }[] = [];

  beforeAll(async () => {
    authority = await anAuthority();
    server = authority.issue('garden', 'garden.test');
  });

  afterEach(() => {
    for (const one of open.splice(0)) {
      one.closeAllConnections();
      one.close();
    }
  });

  async function listen<T extends Server | ReturnType<typeof createPlainServer>>(it: T): Promise<number> {
    open = [...open, it];
    await new Promise<void>((resolve) => it.listen(0, '127.0.0.1', resolve));
    return (it.address() as AddressInfo).port;
  }

  /** Starts a garden that logs its callers: `subject of the certificate|authorization`. */
  async function aTlsGarden(options: ServerOptions = {}) {
    const visitors: string[] = [];
    const sockets = new Set<unknown>();
    const garden = createServer({ ...server, ...options }, (request, response) => {
      const { CN } = (request.socket as TLSSocket).getPeerCertificate()?.subject ?? {};
      visitors.push(`${CN}|${request.headers.authorization}`);
      sockets.add(request.socket);
      answerJson(response, 200, aShoot());
    });
    return { visitors, sockets, url: `https://127.0.0.1:${await listen(garden)}` };
  }

  const trusting = () => ({ 'certificate-authority-data': base64(authority.ca), 'tls-server-name': 'garden.test' });

  it('is called over one connection if the authority of the kubeconfig signed its certificate', async () => {
    const { url, visitors, sockets } = await aTlsGarden();
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, { token: aToken }, trusting()) });

    for (let n = 0; n < 5; n += 1) await client.readShoot(aShootName);

    expect(visitors).toEqual(Array(5).fill(`undefined|Bearer ${aToken}`));
    expect(sockets.size).toBe(1);
    await client.close();
  });

  it.each<[string, () => object | Promise<object>]>([
    [
      'another authority vouches for it',
      async () => ({ ...trusting(), 'certificate-authority-data': base64((await anAuthority()).ca) }),
    ],
    ['no authority is named', () => ({ 'tls-server-name': 'garden.test' })],
    ['it has another name', () => ({ ...trusting(), 'tls-server-name': 'other.test' })],
  ])('receives no credentials when %s', async (_what, cluster) => {
    const { url, visitors } = await aTlsGarden();
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, { token: aToken }, await cluster()) });

    await expect(client.applyShoot({ metadata: aShootName, spec: {} })).rejects.toMatchObject({ kind: 'unreachable' });
    expect(visitors).toEqual([]);
  });

  it('is called without verification only if the kubeconfig waives it', async () => {
    const { url } = await aTlsGarden();
    const { client } = aClient(url, {
      kubeconfigText: aKubeconfig(url, { token: aToken }, { 'insecure-skip-tls-verify': true }),
    });

    expect(await client.readShoot(aShootName)).not.toBeNull();
    await client.close();
  });

  it('receives our client certificate', async () => {
    const { url, visitors } = await aTlsGarden({ ca: authority.ca, requestCert: true, rejectUnauthorized: false });
    const { cert, key } = authority.issue('corral');
    const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, user, trusting()) });

    await client.readShoot(aShootName);

    expect(visitors).toEqual(['corral|undefined']);
    await client.close();
  });

  it('is called through the proxy of the kubeconfig', async () => {
    const { url, visitors } = await aTlsGarden();
    const tunnels: string[] = [];
    const proxy = createPlainServer();
    proxy.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const [host, port] = (request.url ?? '').split(':');
      const onward = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
    });
    const cluster = { ...trusting(), 'proxy-url': `http://127.0.0.1:${await listen(proxy)}` };
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, { token: aToken }, cluster) });

    for (let n = 0; n < 3; n += 1) await client.readShoot(aShootName);

    expect(visitors).toHaveLength(3);
    expect(tunnels).toEqual([new URL(url).host]);
    await client.close();
  });
});

describe('renaming the contexts of a kubeconfig', () => {
  const certificate = 'LS0tLS1'.repeat(200);
  const issued = `apiVersion: v1
kind: Config
current-context: garden-t1a2b3c4--c9f8e7d6-external
clusters:
  - name: garden-t1a2b3c4--c9f8e7d6-external
    cluster: { server: "https://api.example", certificate-authority-data: ${certificate} }
contexts:
  - name: garden-t1a2b3c4--c9f8e7d6-internal
    context: { cluster: garden-t1a2b3c4--c9f8e7d6-internal, user: admin }
  - name: garden-t1a2b3c4--c9f8e7d6-external
    context: { cluster: garden-t1a2b3c4--c9f8e7d6-external, user: admin }
users: []
`;

  it('gives the requested names, the current context first, and changes nothing else', () => {
    const before = parse(issued);

    const named = parse(nameContexts(issued, 'acme/web'));

    expect(named).toEqual({
      ...before,
      'current-context': 'acme/web',
      contexts: [
        { ...before.contexts[0], name: 'acme/web:2' },
        { ...before.contexts[1], name: 'acme/web' },
      ],
    });
  });

  it.each(['just words', 'a: [', '', 'contexts: none'])('leaves %j unchanged, which has no contexts', (text) => {
    expect(nameContexts(text, 'acme/web')).toBe(text);
  });
});
