import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RunningProcess, startProcess, waitFor } from '@corral/testing';
import { startIdentityProvider } from '@corral/testing/identity-provider';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openBrowser } from './support/sign-in/browser.js';
import { startClusterApi, type TestClusterApi } from './support/start-cluster-api.js';

/** The built program: turbo builds a package before its tests run. */
const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'corral-cluster-api-'));
const kubeconfig = join(folder, 'garden.kubeconfig');
const key = randomBytes(32).toString('base64');

let test: TestClusterApi;
/** A provider that answers only when the test ends the response. */
let asked: ServerResponse[];
let provider: Server;
let running: RunningProcess | undefined;
beforeAll(async () => {
  test = await startClusterApi(); // for its database, teams and users
  provider = createServer((_req, res) => void asked.push(res)).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  // Nothing listens there. Requests that need no garden must work without one.
  const cluster = { name: 'garden', cluster: { server: 'http://127.0.0.1:9' } };
  const context = { name: 'garden', context: { cluster: 'garden', user: 'corral' } };
  const user = { name: 'corral', user: { token: 'garden-token-of-the-tests' } };
  const config = { apiVersion: 'v1', kind: 'Config', 'current-context': 'garden' };
  writeFileSync(kubeconfig, JSON.stringify({ ...config, clusters: [cluster], contexts: [context], users: [user] }));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  provider.close();
  await test.close();
});
beforeEach(() => {
  asked = [];
});
afterEach(async () => {
  await running?.stop({ timeoutMs: 0 });
  running = undefined;
});

const environment = () => ({
  PORT: '0',
  METRICS_PORT: '0',
  HOST: '127.0.0.1',
  DATABASE_URL: test.databaseUrl,
  REDIS_URL: undefined,
  NODE_ENV: undefined,
  SECRET_KEYS: `k1:${key}`,
  GARDEN_KUBECONFIG: kubeconfig,
  HCLOUD_API_URL: 'http://127.0.0.1:9/v1',
});
const run = (env: Record<string, string | undefined>, readyLine?: string): Promise<RunningProcess> =>
  startProcess({
    command: process.execPath,
    args: [program],
    env,
    readyTimeoutMs: 90_000,
    ...(readyLine === undefined ? {} : { readyLine }),
  });

async function start(more: Record<string, string> = {}): Promise<{ url: string; metricsUrl: string }> {
  running = await run({ ...environment(), ...more }, '"message":"listening"');
  const lines = running.output().split('\n');
  return JSON.parse(lines.find((line) => line.includes('"message":"listening"')) as string);
}

const send = (url: string, method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { Cookie: test.acme.admin.cookie, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const connection = { spec: { provider: 'hcloud', token: 'token-of-the-project' } };

describe('the process', () => {
  it('exits with 78 and one message that names every wrong variable, without secrets', async () => {
    const wrong = { PORT: 'http', SECRET_KEYS: `k1:${key}x`, GARDEN_KUBECONFIG: undefined, SESSION_IDLE_MS: 'soon' };
    running = await run({ ...environment(), ...wrong });

    expect(await running.exited).toEqual({ code: 78, signal: null });

    const output = running.output();
    expect(output).toMatch(/^cluster-api cannot start\. The configuration has 4 error\(s\):\n/);
    for (const name of Object.keys(wrong)) expect(output.match(new RegExp(`^  ${name} `, 'gm'))).toHaveLength(1);
    expect(output).not.toContain(key.slice(0, 20));
    expect(output).not.toMatch(/^\s+at /m); // no stack
  });

  it('does not start without the kubeconfig of its garden, and then counts as no process', async () => {
    await test.pool.query('DELETE FROM service_process');
    running = await run({ ...environment(), GARDEN_KUBECONFIG: join(folder, 'missing.kubeconfig') });

    expect(await running.exited).toEqual({ code: 1, signal: null });

    expect((await test.pool.query('SELECT FROM service_process')).rowCount).toBe(0);
  });

  it('serves requests, health, metrics and pages without a garden or a provider', async () => {
    const { url, metricsUrl } = await start();

    const put = await send(url, 'PUT', test.acme.path('/connections/process/'), connection);
    const missing = (await (await send(url, 'GET', '/nowhere/')).json()) as { type: string };

    expect([put.status, ((await put.json()) as { status: object }).status]).toMatchObject([
      201,
      { phase: 'Unverified' },
    ]);
    expect(missing.type).toBe(`${url}/problems/not_found`);
    expect((await fetch(missing.type)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${metricsUrl}/metrics`)).text()).toContain(
      'route="/api/v1/teams/{team}/connections/{ref}/"',
    );
  });

  it('signs in with an identity provider that starts later, and never logs the client secret', async () => {
    let url = '';
    const idp = await startIdentityProvider(() => `${url}/auth/callback/`);
    idp.accounts.set('ann', { email: 'ann@acme.test', email_verified: true });
    idp.person = 'ann';
    await idp.leave();
    const oidc = { OIDC_ISSUER: idp.issuer, OIDC_CLIENT_ID: idp.clientId, OIDC_CLIENT_SECRET: idp.clientSecret };
    url = (await start({ ...oidc, NODE_ENV: 'production' })).url;
    const browser = openBrowser(url);
    expect((await browser.visit(`${url}/auth/login/`)).status).toBe(502);
    await idp.comeBack();

    const me = await browser.visit(`${url}/auth/login/`);
    const logout = await browser.send(`${url}/auth/logout/everywhere/`, { method: 'POST' });

    expect([me.status, me.body.email, logout.status]).toEqual([200, 'ann@acme.test', 204]);
    expect((await browser.send(`${url}/api/v1/me/`)).status).toBe(401);
    for (const secret of [idp.clientSecret, 'ann@acme.test']) expect(running?.output()).not.toContain(secret);
    await idp.close();
  });

  it('exits with 0 after requests in flight have ended, and never logs keys, tokens or cookies', async () => {
    const { port } = provider.address() as AddressInfo;
    const { url } = await start({ HCLOUD_API_URL: `http://127.0.0.1:${port}` });
    const used = () => test.db.session.findFirstOrThrow({ where: { userId: test.acme.admin.id } });
    const before = await used();
    await send(url, 'PUT', test.acme.path('/connections/quiet/'), { spec: { ...connection.spec, broken: true } });
    const put = send(url, 'PUT', test.acme.path('/connections/quiet/'), connection);
    await waitFor('the provider to be asked', () => asked.length === 1);

    running?.kill('SIGTERM');
    await waitFor('new connections to be refused', () =>
      fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    asked[0]?.end('{"locations": []}');

    expect((await put).status).toBe(201);
    expect(await running?.exited).toEqual({ code: 0, signal: null });
    expect((await used()).idleExpiresAt.getTime()).toBeGreaterThan(before.idleExpiresAt.getTime());
    const cookie = test.acme.admin.cookie.slice('sessionid='.length);
    for (const secret of [key, 'token-of-the-project', cookie, 'garden-token-of-the-tests']) {
      expect(running?.output()).not.toContain(secret);
    }
  });
});
