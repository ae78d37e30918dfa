import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FaultEffect } from '../src/index.js';
import { records, startTestCloud, type TestCloud, TOKEN } from './start-test-cloud.js';

describe('rrsets', () => {
  let cloud: TestCloud;

  beforeEach(async () => {
    cloud = await startTestCloud();
  });

  afterEach(() => cloud.close());

  const app = '/zones/example.net/rrsets/app/A';

  const create = (over: object = {}) =>
    cloud.call('POST', '/zones/example.net/rrsets', {
      name: 'app',
      type: 'A',
      ttl: 300,
      records: records('192.0.2.1'),
      ...over,
    });

  describe('an rrset', () => {
    it('is returned completely, with its action, when it is created', async () => {
      const created = await create({
        labels: { env: 'prod' },
        records: [{ value: '192.0.2.1', comment: 'blue' }, { value: '192.0.2.2' }],
      });

      expect(created.status).toBe(201);
      expect(created.text).toMatch(
        /^\{"rrset":\{"id":"app\/A","name":"app","type":"A","ttl":300,"labels":\{"env":"prod"\},"protection":\{"change":false\},"records":\[\{"value":"192\.0\.2\.1","comment":"blue"\},\{"value":"192\.0\.2\.2","comment":""\}\],"zone":7001\},"action":\{"id":880001,"command":"create_rrset","status":"running","progress":0,"started":"[-0-9T:]+Z","finished":null,"resources":\[\{"id":7001,"type":"zone"\}\],"error":null\}\}$/,
      );
    });

    it.each([
      [
        'set_records',
        { records: records('192.0.2.9') },
        201,
        'set_rrset_records',
        { records: [{ value: '192.0.2.9', comment: '' }] },
      ],
      [
        'add_records',
        { records: records('192.0.2.9') },
        201,
        'add_rrset_records',
        {
          records: [
            { value: '192.0.2.1', comment: '' },
            { value: '192.0.2.9', comment: '' },
          ],
        },
      ],
      ['change_ttl', { ttl: null }, 201, 'change_rrset_ttl', { ttl: null }],
    ])('is changed by %s', async (action, request, status, command, change) => {
      const { body: created } = await create();

      const changed = await cloud.call('POST', `${app}/actions/${action}`, request);

      expect([changed.status, Object.keys(changed.body)]).toEqual([status, ['action']]);
      expect(changed.body.action).toMatchObject({ id: 880002, command, status: 'running' });
      expect((await cloud.call('GET', app)).body).toEqual({ rrset: { ...created.rrset, ...change } });
    });

    it.each([
      ['DELETE', '', undefined, 'delete_rrset'],
      ['POST', '/actions/remove_records', { records: records('192.0.2.1') }, 'remove_rrset_records'],
    ])('does not exist after %s %s', async (method, path, body, command) => {
      await create();

      const removed = await cloud.call(method, app + path, body);

      expect([removed.status, removed.body.action.command]).toEqual([201, command]);
      expect((await cloud.call('GET', app)).status).toBe(404);
      expect((await cloud.call('GET', '/zones/7001')).body.zone.record_count).toBe(4);
    });

    it('increases the serial of the zone with every change except labels', async () => {
      const serial = async () =>
        Number((await cloud.call('GET', '/zones/7001/rrsets/@/SOA')).body.rrset.records[0].value.split(' ')[2]);
      const before = await serial();

      await create();
      await cloud.call('POST', `${app}/actions/change_ttl`, { ttl: 60 });
      await cloud.call('PUT', app, { labels: { a: 'b' } });

      expect(await serial()).toBe(before + 2);
    });
  });

  describe('a zone', () => {
    it('is returned completely, with id and name first', async () => {
      const { status, body, text } = await cloud.call('GET', '/zones/example.net');

      expect([status, text.slice(0, 35)]).toEqual([200, '{"zone":{"id":7001,"name":"example.']);
      expect(body.zone).toEqual({
        id: 7001,
        name: 'example.net',
        created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        mode: 'primary',
        ttl: 3600,
        labels: {},
        protection: { delete: false },
        primary_nameservers: [],
        registrar: 'other',
        status: 'ok',
        record_count: 4,
        authoritative_nameservers: {
          assigned: ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'],
          delegated: ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'],
          delegation_last_check: null,
          delegation_status: 'unknown',
        },
      });
    });
  });
});

describe('actions', () => {
  let cloud: TestCloud;

  afterEach(() => cloud.close());

  const add = async (value: string) => {
    const { body } = await cloud.call('POST', '/zones/7001/rrsets/app/A/actions/add_records', {
      records: records(value),
    });
    return body.action;
  };

  const shown = async () => (await cloud.call('GET', '/zones/7001/rrsets/app/A')).body.rrset?.records.length ?? 0;

  describe('an action', () => {
    it('runs for its time and then succeeds', async () => {
      cloud = await startTestCloud();
      const action = await add('192.0.2.1');

      cloud.admin.advanceClock(30_000);
      const half = await cloud.call('GET', `/actions/${action.id}`);
      cloud.admin.advanceClock(30_000);
      const whole = await cloud.call('GET', `/actions/${action.id}`);

      expect([half.status, half.body]).toEqual([200, { action }]);
      expect(whole.body.action).toEqual({
        ...action,
        status: 'success',
        progress: 100,
        finished: expect.stringMatching(/Z$/),
      });
    });

    it.each([
      ['after its time', {}, 60_000],
      ['at the time that the fault states', { afterMs: 120_000 }, 120_000],
    ])('ends in error and has no effect when a fault requires it, %s', async (_when, late, ms) => {
      cloud = await startTestCloud();
      const actionError = { code: 'unknown_error', message: 'sorry' };
      cloud.admin.addFaults({ effect: { actionError: { ...actionError, ...late } } });

      const { id } = await add('192.0.2.1');
      const shownAction = async () => (await cloud.call('GET', `/actions/${id}`)).body.action;
      cloud.admin.advanceClock(ms - 30_000);
      expect(await shownAction()).toMatchObject({ status: 'running', error: null });
      cloud.admin.advanceClock(30_000);

      expect(await shownAction()).toMatchObject({ status: 'error', error: actionError });
      expect(await shown()).toBe(0);
      expect(cloud.admin.writes()).toMatchObject([{ actionId: id, actionError }]);
    });
  });
});

describe('refusals', () => {
  let cloud: TestCloud;

  beforeAll(async () => {
    cloud = await startTestCloud();
    cloud.admin.putRrset('example.net', 'app', 'A', { records: records('192.0.2.1') });
  });

  afterAll(() => cloud.close());

  const sets = '/zones/example.net/rrsets';

  const aSet = { name: 'new', type: 'A', records: records('192.0.2.1') };

  describe('refusals', () => {
    it.each<[string, string, unknown, number, string, string, unknown]>([
      ['POST', sets, [], 400, 'json_error', 'the body must be a JSON object', null],
      ['GET', '/zones/%zz', undefined, 400, 'json_error', 'the request cannot be read', null],
      ['GET', '/volumes', undefined, 404, 'not_found', 'path not found', null],
      ['GET', `${sets}/gone/A`, undefined, 404, 'not_found', 'rrset not found', null],
      ['POST', '/zones/9/rrsets', aSet, 404, 'not_found', 'zone not found', null],
      ['GET', '/actions/1', undefined, 404, 'not_found', 'action not found', null],
      ['POST', '/zones', {}, 405, 'method_not_allowed', 'method not allowed', null],
      [
        'POST',
        sets,
        { ...aSet, name: 'app' },
        409,
        'uniqueness_error',
        'RRSet already exists',
        { fields: [{ name: 'name' }] },
      ],
    ])('%s %s %j: %i %s', async (method, path, body, status, code, message, details) => {
      const answer = await cloud.call(method, path, body);

      expect([answer.status, answer.body]).toEqual([status, { error: { code, message, details } }]);
    });

    it.each([
      [{}, 'token is required'],
      [{ Authorization: TOKEN }, 'token is required'],
      [{ Authorization: `Basic ${TOKEN}` }, 'token is required'],
      [{ Authorization: 'Bearer wrong' }, 'the token you have provided is invalid'],
    ])('of requests with %j say: %s', async (headers, message) => {
      const { status, body } = await cloud.call('GET', '/zones', undefined, headers as Record<string, string>);

      expect([status, body]).toEqual([401, { error: { code: 'unauthorized', message, details: null } }]);
    });

    it('change nothing', () => {
      expect(cloud.admin.writes()).toEqual([]);
    });
  });
});

describe('budget', () => {
  let cloud: TestCloud;

  afterEach(() => cloud.close());

  describe('the request budget', () => {
    it('is charged for every request, and stated in the headers', async () => {
      cloud = await startTestCloud();
      expect((await cloud.call('GET', '/nowhere')).headers.get('RateLimit-Limit')).toBe('3600');
      cloud.admin.setBudget({ requestsPerHour: 36, remaining: 36 });

      await cloud.call('GET', '/zones', undefined, {});
      const { headers } = await cloud.call('GET', '/nowhere');

      expect(headers.get('RateLimit-Limit')).toBe('36');
      expect(headers.get('RateLimit-Remaining')).toBe('34');
      expect(Number(headers.get('RateLimit-Reset')) - Date.now() / 1000).toBeLessThan(201);
      expect(headers.get('X-Correlation-Id')).toMatch(/^[0-9a-f]{16}$/);
    });

    it('refuses requests when it is used up, and is refilled as the clock advances', async () => {
      cloud = await startTestCloud({ requestsPerHour: 36 });
      cloud.admin.setBudget({ remaining: 1 });

      const statuses = [await cloud.call('GET', '/zones'), await cloud.call('GET', '/zones')];
      cloud.admin.advanceClock(100_000);
      const later = await cloud.call('GET', '/zones');

      expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
      expect(statuses[1]?.body).toEqual({
        error: { code: 'rate_limit_exceeded', message: 'limit of 36 requests per hour reached', details: null },
      });
      expect(statuses[1]?.headers.get('RateLimit-Remaining')).toBe('0');
      expect(later.status).toBe(200);
    });

    it('is separate for each project', async () => {
      cloud = await startTestCloud({ projectTokens: ['other'] });
      cloud.admin.setBudget({ remaining: 0 });

      const other = await cloud.call('GET', '/pricing', undefined, { Authorization: 'Bearer other' });

      expect([other.status, other.headers.get('RateLimit-Remaining')]).toEqual([200, '3599']);
      expect((await cloud.call('GET', '/zones')).status).toBe(429);
    });
  });
});

describe('faults', () => {
  let cloud: TestCloud;

  beforeEach(async () => {
    cloud = await startTestCloud();
  });

  afterEach(() => cloud.close());

  const write = () =>
    cloud.call('POST', '/zones/7001/rrsets', { name: 'app', type: 'A', records: records('192.0.2.1') });

  const performed = () => cloud.admin.writes().length === 1;

  describe('an injected fault', () => {
    it.each<[FaultEffect, number, unknown]>([
      [{ status: 503 }, 503, { error: { code: 'unavailable', message: 'injected fault', details: null } }],
      [{ status: 409 }, 409, { error: { code: 'conflict', message: 'injected fault', details: null } }],
      [
        { status: 423, code: 'locked', message: 'busy' },
        423,
        { error: { code: 'locked', message: 'busy', details: null } },
      ],
      [{ status: 500, body: { a: 1 } }, 500, { a: 1 }],
    ])('%j replaces the answer of the API', async (effect, status, body) => {
      cloud.admin.addFaults({ effect });

      const answer = await write();

      expect([answer.status, answer.body, performed()]).toEqual([status, body, false]);
    });

    it('can perform the request before it answers', async () => {
      cloud.admin.addFaults({ effect: { status: 504, perform: true } });

      const { status, body } = await write();

      expect([status, body.error.code, performed()]).toEqual([504, 'timeout', true]);
    });

    it.each<[FaultEffect, boolean]>([
      [{ reset: 'before' }, false],
      [{ reset: 'after' }, true],
      [{ truncate: true }, true],
    ])('%j breaks the connection', async (effect, isPerformed) => {
      cloud.admin.addFaults({ effect });

      await expect(write()).rejects.toThrow();

      expect(performed()).toBe(isPerformed);
    });

    it('can leave a request without an answer until the cloud is closed', async () => {
      cloud.admin.addFaults({ match: { method: 'POST' }, effect: { hang: true } });

      const hanging = write();
      hanging.catch(() => {});
      await expect(Promise.race([hanging, cloud.call('GET', '/zones')])).resolves.toMatchObject({ status: 200 });

      await cloud.close();
      await expect(hanging).rejects.toThrow();
      cloud = await startTestCloud();
    });
  });
});

describe('servers', () => {
  const PROJECT = 'p'.repeat(64);

  const SAME_PROJECT = 's'.repeat(64);

  const OTHER_PROJECT = 'o'.repeat(64);

  let dataDir: string;

  let cloud: TestCloud;

  const start = () => startTestCloud({ dataDir, projectTokens: [PROJECT, OTHER_PROJECT], actionMs: 60_000 });

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
    cloud = await start();
  });

  afterEach(async () => {
    await cloud.close();
    rmSync(dataDir, { recursive: true });
  });

  const call = (method: string, path: string, body?: unknown, token = PROJECT) =>
    cloud.call(method, path, body, { Authorization: `Bearer ${token}` });

  const rebuild = (body: unknown = { image: 'ubuntu-24.04', user_data: '#cloud-config' }) =>
    call('POST', '/servers/4711/actions/rebuild', body);

  describe('a server', () => {
    it('is visible with every token of its project only', async () => {
      cloud.admin.addServer(PROJECT, { name: 'web' });
      cloud.admin.addProjectToken(SAME_PROJECT, { sameProjectAs: PROJECT });

      expect((await call('GET', '/servers/4711')).body.server).toMatchObject({
        id: 4711,
        name: 'web',
        status: 'running',
      });
      expect((await call('GET', '/servers', undefined, SAME_PROJECT)).body.servers).toHaveLength(1);
      expect((await call('GET', '/servers/4711', undefined, OTHER_PROJECT)).body.error.code).toBe('not_found');
      expect((await call('GET', '/servers', undefined, OTHER_PROJECT)).body.servers).toEqual([]);
    });
  });

  describe('a rebuild', () => {
    it('locks the server until its action ends, and only then shows the image', async () => {
      cloud.admin.addServer(PROJECT, { image: 'debian-12' });

      const { status, body } = await rebuild();

      expect([status, body.action.status, body.root_password]).toEqual([201, 'running', null]);
      const during = (await call('GET', '/servers/4711')).body.server;
      expect([during.locked, during.status, during.image.name]).toEqual([true, 'rebuilding', 'debian-12']);
      expect((await rebuild()).body.error.code).toBe('locked');
      cloud.admin.advanceClock(60_000);
      const after = (await call('GET', '/servers/4711')).body.server;
      expect([after.locked, after.status, after.image.name]).toEqual([false, 'running', 'ubuntu-24.04']);
      expect((await call('GET', `/actions/${body.action.id}`)).body.action).toMatchObject({ status: 'success' });
    });

    it('erases the server again with each request after its end', async () => {
      cloud.admin.addServer(PROJECT);
      await rebuild();
      cloud.admin.advanceClock(60_000);
      await rebuild({ image: 'ubuntu-24.04' });

      expect(cloud.admin.servers()[0]).toMatchObject({ rebuilds: 2, userData: '#cloud-config' });
      const { actions } = (await call('GET', '/servers/4711/actions?sort=id:desc')).body;
      expect(actions.map(({ command }: { command: string }) => command)).toEqual(['rebuild_server', 'rebuild_server']);
      expect(actions[0].id).toBeGreaterThan(actions[1].id);
    });

    it.each<[string, object, unknown, number, string]>([
      ['is protected', { protection: { delete: true, rebuild: true } }, undefined, 423, 'protected'],
      ['is locked', { locked: true }, undefined, 423, 'locked'],
      ['is to have an unknown image', {}, { image: 'templeos' }, 404, 'not_found'],
    ])('is refused while the server %s', async (_what, options, body, status, code) => {
      cloud.admin.addServer(PROJECT, options);

      const answer = await rebuild(body);

      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
      expect(cloud.admin.servers()[0]?.rebuilds).toBe(0);
    });

    it('can be made to fail', async () => {
      cloud.admin.addServer(PROJECT);
      cloud.admin.addFaults({
        match: { method: 'POST', path: '/v1/servers/4711/actions/rebuild' },
        effect: { actionError: { code: 'action_failed', message: 'no' } },
      });
      const { body } = await rebuild();
      cloud.admin.advanceClock(60_000);

      const { action } = (await call('GET', `/actions/${body.action.id}`)).body;
      expect(action).toMatchObject({ status: 'error', error: { code: 'action_failed' } });
    });
  });
});

describe('restart', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
  });

  afterEach(() => rmSync(dataDir, { recursive: true }));

  const journal = () => join(dataDir, 'dns.jsonl');

  /** Runs `work` on a cloud with the data folder and stops it. */
  async function run<T>(work: (cloud: TestCloud) => Promise<T> | T): Promise<T> {
    const cloud = await startTestCloud({ dataDir });
    try {
      return await work(cloud);
    } finally {
      await cloud.close();
    }
  }

  const create = (cloud: TestCloud, name: string) =>
    cloud.call('POST', '/zones/7001/rrsets', { name, type: 'A', records: records('192.0.2.1') });

  /** What the journal keeps, without the values. */
  const keysIn = (path: string): string[] =>
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .flatMap((line) => JSON.parse(line).map(([key]: [string]) => key));

  describe('a restart', () => {
    it('keeps rrsets, actions and zones, and one line for each', async () => {
      const read = async (cloud: TestCloud) => ({
        zones: cloud.admin.zones(),
        list: (await cloud.call('GET', '/zones/7001/rrsets')).body,
        actions: (await cloud.call('GET', '/actions?id=880001&id=880002&id=880003')).body,
      });
      const before = await run(async (cloud) => {
        await create(cloud, 'b');
        await create(cloud, 'a');
        await cloud.call('DELETE', '/zones/7001/rrsets/b/A');
        cloud.admin.putRrset('demo.test', 'c', 'A', { records: records('192.0.2.1') });
        return read(cloud);
      });

      const written = keysIn(journal());

      const after = [await run(read), await run(read)];

      expect(after).toEqual([before, before]);
      const kept = keysIn(journal());
      expect(written.length).toBeGreaterThan(kept.length);
      expect(kept.sort()).toEqual([...new Set(written)].filter((key) => !key.endsWith(' b/A')).sort());
    });

    it('does not know what was written after the end, when another process may own the file', async () => {
      const ended = await run((cloud) => cloud);
      const before = readFileSync(journal(), 'utf8');

      ended.admin.putRrset('demo.test', 'late', 'A', { records: records('192.0.2.1') });

      expect(readFileSync(journal(), 'utf8')).toBe(before);
    });

    it('drops a truncated last line, and never reuses an action id', async () => {
      const first = await run((cloud) => create(cloud, 'a'));
      appendFileSync(journal(), '[["set 7001 c/A",{"na');

      const [second, names] = await run(async (cloud) => [
        await create(cloud, 'b'),
        cloud.admin.zones()[0]?.rrsets.map(({ name }) => name),
      ]);

      expect(names).toEqual(['@', '@', 'a', 'b']);
      expect([first.body.action.id, second.body.action.id]).toEqual([880001, 880002]);
    });

    it('refuses a journal with damage elsewhere, and says what to do', async () => {
      appendFileSync(journal(), '{"half\n[]\n');

      await expect(startTestCloud({ dataDir })).rejects.toThrow(/dns\.jsonl is damaged at line 1\. Delete the file/);
    });
  });
});
