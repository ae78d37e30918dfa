import { fileURLToPath } from 'node:url';
import { checkDnsAnswer } from '@corral/contracts';
import {
  closedUrl,
  type DatabaseDoor,
  databaseDoor,
  type RunningProcess,
  startProcess,
  waitFor,
} from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { auditOf } from './support/audit.js';
import { createSet, makeDemo } from './support/demos.js';
import { type Answer, startGateway, type TestGateway, UPSTREAM_TOKEN, ZONE } from './support/start-gateway.js';

describe('Postgres', () => {
  const RRSETS = `/zones/${ZONE}/rrsets`;

  let gateway: TestGateway;
  let door: DatabaseDoor;
  beforeAll(async () => {
    gateway = await startGateway({ config: { actionPollMs: 10 } });
    door = databaseDoor(gateway.databaseUrl);
  });
  afterAll(() => gateway.close());
  afterEach(() => door.open());

  const create = (name: string): Promise<Answer> =>
    gateway.call('POST', RRSETS, { body: { name, type: 'A', records: [{ value: '192.0.2.1' }] } });

  function expectUnavailable({ status, json, headers }: Answer): void {
    checkDnsAnswer.error(json);
    expect(status).toBe(503);
    expect(json.error).toMatchObject({ code: 'unavailable', details: null });
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }

  describe('during a Postgres outage', () => {
    it('reads and writes get 503 with Retry-After, nothing is sent upstream, and service recovers by itself', async () => {
      const { json } = await create('before.acme');
      const actionId = json.action.id;
      gateway.cloud.admin.resetCalls();
      await door.shut();

      for (const path of ['/zones', `/zones/${ZONE}`, RRSETS, `${RRSETS}/before.acme/A`, `/actions/${actionId}`]) {
        expectUnavailable(await gateway.call('GET', path));
      }
      expectUnavailable(await create('during.acme'));
      expectUnavailable(await gateway.call('DELETE', `${RRSETS}/before.acme/A`));
      expectUnavailable(await gateway.call('GET', RRSETS, { token: gateway.globex.token }));
      expect(gateway.upstreamCalls()).toBe(0);
      await door.open();

      await waitFor('reads to work', async () => (await gateway.call('GET', RRSETS)).status === 200);
      expect((await create('during.acme')).status).toBe(201);
      expect((await gateway.call('DELETE', `${RRSETS}/before.acme/A`)).status).toBe(201);
      expect((await gateway.call('GET', `/actions/${actionId}`)).status).toBe(200);
    });

    it('a revoked token is rejected afterwards, although the notification was lost', async () => {
      const { token, tokenId } = await gateway.issueToken(gateway.acme);
      expect((await gateway.call('GET', RRSETS, { token })).status).toBe(200);
      await door.shut();
      await door.open();

      await waitFor('the revocation to be written', async () => {
        await gateway.pool.query('UPDATE dns_token SET revoked_at = now() WHERE id = $1', [tokenId]);
        return true;
      });

      expect((await gateway.call('GET', RRSETS, { token })).status).toBe(401);
    });
  });

  describe('a Postgres outage before a write is sent', () => {
    /** Another process, with connection `pid`, changes the account of the budget until `giveBack` is called. */
    async function takeAccount(): Promise<{ pid: number; giveBack: () => Promise<void> }> {
      const client = await gateway.pool.connect();
      await client.query('BEGIN');
      const { rows } = await client.query('SELECT pg_backend_pid() AS pid FROM upstream_budget FOR UPDATE');
      const giveBack = async () => {
        await client.query('ROLLBACK');
        client.release(true);
      };
      return { pid: rows[0].pid, giveBack };
    }

    const isBegun = (name: string) =>
      waitFor('the write to be begun', async () => (await auditOf(gateway, name)).length === 1);

    it('that is short: it is sent once, and the write ends with the upstream’s result', async () => {
      const patient = await startGateway({ beside: gateway, waitMsMax: 8_000 });
      gateway.cloud.admin.resetCalls();
      const { pid, giveBack } = await takeAccount();
      const body = { name: 'soon.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
      const answer = patient.call('POST', RRSETS, { body });
      await isBegun('soon.acme');

      await door.shut([pid]);
      await door.open();
      await giveBack();

      expect((await answer).status).toBe(201);
      expect(gateway.upstreamCalls()).toBe(1);
      await patient.close();
    });

    it('that lasts: 503, and nothing is sent upstream', async () => {
      gateway.cloud.admin.resetCalls();
      const { pid, giveBack } = await takeAccount();
      const answer = create('later.acme');
      await isBegun('later.acme');

      await door.shut([pid]);
      await giveBack();

      expectUnavailable(await answer);
      expect(gateway.upstreamCalls()).toBe(0);
    });

    it('that ends too late for the write: 503, nothing is sent upstream, and the audit log says why', async () => {
      gateway.cloud.admin.resetCalls();
      const { giveBack } = await takeAccount();

      expectUnavailable(await create('late.acme'));
      expect(gateway.upstreamCalls()).toBe(0);
      const { rows } = await gateway.pool.query(
        `SELECT state, refusal_code FROM dns_audit_entry WHERE name = 'late.acme'`,
      );
      expect(rows).toEqual([{ state: 'unsent', refusal_code: 'unavailable' }]);

      await giveBack();
      await waitFor('writes to work', async () => (await create('late.acme')).status === 201);
    });
  });

  describe('a Postgres outage during a write', () => {
    it('that is short: the write ends with the upstream’s result', async () => {
      gateway.cloud.admin.resetCalls();
      gateway.cloud.admin.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect: { delayMs: 200 } });
      const answer = create('short.acme');
      await waitFor('the call upstream', () => gateway.upstreamCalls() === 1);

      await door.shut();
      await door.open();

      expect((await answer).status).toBe(201);
      expect(await auditOf(gateway, 'short.acme')).toEqual([expect.objectContaining({ state: 'completed' })]);
      expect((await gateway.call('GET', `${RRSETS}/short.acme/A`)).status).toBe(200);
    });

    it('that lasts: 503, and the entry stays pending for settlement', async () => {
      gateway.cloud.admin.resetCalls();
      gateway.cloud.admin.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect: { delayMs: 1_000 } });
      const answer = create('long.acme');
      await waitFor('the call upstream', () => gateway.upstreamCalls() === 1);

      await door.shut();
      expectUnavailable(await answer);
      await door.open();

      const entries = () => auditOf(gateway, 'long.acme');
      await waitFor('Postgres to be back', async () => (await entries()).length === 1);
      expect(await entries()).toEqual([expect.objectContaining({ state: 'pending', reserved_records: 1 })]);
    });
  });
});

describe('what operators stop', () => {
  let at: TestGateway;
  beforeAll(async () => {
    at = await startGateway();
  });
  afterAll(() => at.close());

  it('during a hold: reads go on, and writes get 503 without a call upstream or an audit entry', async () => {
    await at.pool.query("INSERT INTO installation_hold (reason) VALUES ('requested')");
    const countEntries = async () => (await at.pool.query('SELECT FROM dns_audit_entry')).rowCount;
    const create = () =>
      at.call('POST', `/zones/${ZONE}/rrsets`, {
        body: { name: 'held.acme', type: 'A', records: [{ value: '192.0.2.1' }] },
      });
    const before = [at.upstreamCalls(), await countEntries()];

    const { status, json, headers } = await create();
    expect([status, json.error.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '60']);
    expect(json.error.message).toContain('stopped changes');
    expect([at.upstreamCalls(), await countEntries()]).toEqual(before);
    expect((await at.call('GET', `/zones/${ZONE}/rrsets`)).status).toBe(200);
    expect((await at.call('POST', '/demos', { body: {} })).status).toBe(503);

    await at.pool.query('UPDATE installation_hold SET ended_at = now()');
    expect((await create()).status).toBe(201);
  });

  it('while a team is suspended: it reads, and its writes and those of its demos get 403 without a call upstream', async () => {
    const demo = await makeDemo(at);
    const body = { name: 'late.acme', type: 'A', records: [{ value: '192.0.2.1' }] };
    const path = `/zones/${at.zoneId}/rrsets`;
    const write = async () => [await at.call('POST', path, { body }), await createSet(at, demo.token, demo.label)];
    await at.pool.query(`UPDATE team SET suspended_at = now() WHERE slug = 'acme'`);
    const before = at.upstreamCalls();

    const read = await at.call('GET', path);
    const refused = await write();
    const calls = at.upstreamCalls() - before;
    await at.pool.query('UPDATE team SET suspended_at = NULL');
    const written = await write();

    expect([read, ...refused, ...written].map(({ status }) => status)).toEqual([200, 403, 403, 201, 201]);
    expect(calls).toBe(0);
    expect(refused[0]?.json.error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('suspended') });
  });
});

describe('the built program', () => {
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
    startProcess({
      command: process.execPath,
      args: [program],
      env,
      ...(readyLine === undefined ? {} : { readyLine }),
    });

  async function start(env: Record<string, string> = {}): Promise<{ url: string; metricsUrl: string }> {
    running = await run({ ...environment(), ...env }, '"message":"listening"');
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
    it('serves, shows metrics, and logs no token: neither its own for the upstream nor those of callers', async () => {
      const { url, metricsUrl } = await start();

      expect((await send(url, 'POST', `/zones/${ZONE}/rrsets`, aSet('process.acme'))).status).toBe(201);
      expect((await send(url, 'POST', `/zones/${ZONE}/rrsets`, { broken: true })).status).toBe(400);
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
      expect(metrics).toContain('corral_dns_writes_total{outcome="accepted"');
      running?.kill('SIGTERM');
      await running?.exited;

      const output = running?.output() as string;
      for (const secret of [UPSTREAM_TOKEN, gateway.acme.token, new URL(gateway.databaseUrl).password]) {
        expect(output).not.toContain(secret);
      }
    });

    it('grants its part of a limit while Redis is unavailable', async () => {
      const env = { LIMIT_PER_TOKEN: '120', REDIS_URL: (await closedUrl()).replace(/^http/, 'redis') };
      const leftAt = async ({ url }: { url: string }) =>
        Number((await send(url, 'GET', '/zones')).headers.get('ratelimit-remaining'));
      await gateway.pool.query('DELETE FROM service_process');

      const alone = await start(env);
      expect(await leftAt(alone)).toBe(119);
      const first = running;
      const leftAtSecond = await start(env).then(leftAt);
      await first?.stop({ timeoutMs: 0 });

      expect(leftAtSecond).toBe(59);
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
});
