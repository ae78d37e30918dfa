import { fileURLToPath } from 'node:url';
import { type RunningProcess, startProcess, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { auditOf } from './support/audit.js';
import { startGateway, type TestGateway, UPSTREAM_TOKEN, ZONE } from './support/start-gateway.js';

/** The built program: turbo builds a package before it tests it. */
const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let gateway: TestGateway;
let running: RunningProcess | undefined;
beforeAll(async () => {
  gateway = await startGateway(); // provides the database, the mirrored zone and the local cloud
});
afterAll(() => gateway.close());
afterEach(async () => {
  await running?.stop({ timeoutMs: 0 });
  running = undefined;
});

const environment = () => ({
  PORT: '0',
  METRICS_PORT: '0',
  HOST: '127.0.0.1',
  DATABASE_URL: gateway.databaseUrl,
  REDIS_URL: undefined,
  DNS_ZONE_NAME: ZONE,
  HCLOUD_API_URL: gateway.cloud.apiUrl,
  HCLOUD_TOKEN: UPSTREAM_TOKEN,
});

const run = (env: Record<string, string | undefined>, readyLine?: string): Promise<RunningProcess> =>
  startProcess({ command: process.execPath, args: [program], env, ...(readyLine === undefined ? {} : { readyLine }) });

async function start(): Promise<{ url: string; metricsUrl: string }> {
  running = await run(environment(), '"message":"listening"');
  const lines = running.output().split('\n');
  return JSON.parse(lines.find((line) => line.includes('"message":"listening"')) as string);
}

const send = (url: string, method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${url}/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${gateway.acme.token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const aSet = (name: string) => ({ name, type: 'A', records: [{ value: '192.0.2.1' }] });

describe('the process', () => {
  it('exits with 78 and one message that names every wrong variable and shows no secrets', async () => {
    const wrong = { PORT: 'http', HCLOUD_TOKEN: undefined, DNS_ZONE_NAME: undefined, ACTION_POLL_MS: 'soon' };
    running = await run({ ...environment(), ...wrong });

    expect(await running.exited).toEqual({ code: 78, signal: null });

    const output = running.output();
    expect(output).toMatch(/^dns-gateway cannot start\. The configuration has 4 error\(s\):\n/);
    for (const name of Object.keys(wrong)) expect(output.match(new RegExp(`^  ${name} `, 'gm'))).toHaveLength(1);
    expect(output).not.toContain(new URL(gateway.databaseUrl).password);
    expect(output).not.toMatch(/^\s+at /m); // no stack
  });

  it('serves reads and writes, health and metrics', async () => {
    const { url, metricsUrl } = await start();

    expect((await send(url, 'POST', `/zones/${ZONE}/rrsets`, aSet('process.acme'))).status).toBe(201);
    expect((await send(url, 'GET', `/zones/${ZONE}/rrsets/process.acme/A`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    expect(metrics).toContain('corral_dns_writes_total{outcome="accepted"');
  });

  it('logs no token: neither its own token for the upstream nor those of callers', async () => {
    const { url } = await start();
    await send(url, 'POST', `/zones/${ZONE}/rrsets`, aSet('quiet.acme'));
    await send(url, 'POST', `/zones/${ZONE}/rrsets`, { broken: true });

    running?.kill('SIGTERM');
    await running?.exited;

    const output = running?.output() as string;
    for (const secret of [UPSTREAM_TOKEN, gateway.acme.token, new URL(gateway.databaseUrl).password]) {
      expect(output).not.toContain(secret);
    }
  });

  it('finishes a write in flight when it is asked to stop, and exits with 0', async () => {
    const { url } = await start();
    gateway.cloud.admin.resetCalls();
    gateway.cloud.admin.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect: { delayMs: 700 } });
    const answer = send(url, 'POST', `/zones/${ZONE}/rrsets`, aSet('ending.acme'));
    await waitFor('the call upstream', () => gateway.upstreamCalls() === 1);

    running?.kill('SIGTERM');
    await waitFor('new connections to be refused', () =>
      send(url, 'GET', '/zones').then(
        ({ status }) => status === 503,
        () => true,
      ),
    );

    expect((await answer).status).toBe(201);
    expect(await running?.exited).toEqual({ code: 0, signal: null });
    expect(await auditOf(gateway, 'ending.acme')).toEqual([
      expect.objectContaining({ state: 'completed', upstream_status: 201, answered: true }),
    ]);
  });
});
