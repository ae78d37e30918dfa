import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type FaultEffect, writeZone } from '../src/index.js';
import { records, startTestCloud, type TestCloud, TOKEN } from './start-test-cloud.js';

const PROJECT = 'p'.repeat(64);
const SAME_PROJECT = 's'.repeat(64);
const OTHER_PROJECT = 'o'.repeat(64);
const SETS = '/zones/example.net/rrsets';
const MINUTE_MS = 60_000;

let cloud: TestCloud;
let sets = 0;
beforeAll(async () => {
  cloud = await startTestCloud({ projectTokens: [PROJECT, OTHER_PROJECT] });
});
afterEach(() => cloud.admin.clearFaults());
afterAll(() => cloud.close());

/** Creates a set. @returns its path */
async function create(over: object = {}): Promise<string> {
  sets += 1;
  const name = `app-${sets}`;
  await cloud.call('POST', SETS, { name, type: 'A', ttl: 300, records: records('192.0.2.1'), ...over });
  return `${SETS}/${name}/A`;
}
const writesTo = (path: string) => cloud.admin.writes().filter(({ name }) => path.includes(`/${name}/`));

describe('an rrset', () => {
  it('is returned completely, with its action, when it is created', async () => {
    const created = await cloud.call('POST', SETS, {
      name: 'app',
      type: 'A',
      ttl: 300,
      labels: { env: 'prod' },
      records: [{ value: '192.0.2.1', comment: 'blue' }, { value: '192.0.2.2' }],
    });

    expect(created.status).toBe(201);
    expect(created.text).toMatch(
      /^\{"rrset":\{"id":"app\/A","name":"app","type":"A","ttl":300,"labels":\{"env":"prod"\},"protection":\{"change":false\},"records":\[\{"value":"192\.0\.2\.1","comment":"blue"\},\{"value":"192\.0\.2\.2","comment":""\}\],"zone":7001\},"action":\{"id":880001,"command":"create_rrset","status":"running","progress":0,"started":"[-0-9T:]+Z","finished":null,"resources":\[\{"id":7001,"type":"zone"\}\],"error":null\}\}$/,
    );
  });

  it('is changed by an action, and removed by a DELETE', async () => {
    const path = await create();

    const changed = await cloud.call('POST', `${path}/actions/add_records`, { records: records('192.0.2.9') });
    const { body } = await cloud.call('GET', path);
    const removed = await cloud.call('DELETE', path);

    expect([changed.status, changed.body]).toMatchObject([201, { action: { command: 'add_rrset_records' } }]);
    expect(body.rrset.records).toEqual([
      { value: '192.0.2.1', comment: '' },
      { value: '192.0.2.9', comment: '' },
    ]);
    expect([removed.status, removed.body]).toMatchObject([201, { action: { command: 'delete_rrset' } }]);
    expect((await cloud.call('GET', path)).status).toBe(404);
  });

  it('increases the serial of the zone with every change except labels', async () => {
    const serial = async () =>
      Number((await cloud.call('GET', `${SETS}/@/SOA`)).body.rrset.records[0].value.split(' ')[2]);
    const before = await serial();

    const path = await create();
    await cloud.call('POST', `${path}/actions/change_ttl`, { ttl: 60 });
    await cloud.call('PUT', path, { labels: { a: 'b' } });

    expect(await serial()).toBe(before + 2);
  });
});

it('a zone is returned completely, with id and name first', async () => {
  const { status, body, text } = await cloud.call('GET', '/zones/demo.test');

  expect([status, text.slice(0, 35)]).toEqual([200, '{"zone":{"id":7002,"name":"demo.tes']);
  const nameServers = ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'];
  expect(body.zone).toEqual({
    id: 7002,
    name: 'demo.test',
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
      assigned: nameServers,
      delegated: nameServers,
      delegation_last_check: null,
      delegation_status: 'unknown',
    },
  });
});

describe('an action', () => {
  const actionOf = async (id: number) => (await cloud.call('GET', `/actions/${id}`)).body.action;

  it('runs for its time and then succeeds', async () => {
    const { body } = await cloud.call('POST', `${await create()}/actions/change_ttl`, { ttl: 60 });

    cloud.admin.advanceClock(MINUTE_MS / 2);
    expect(await actionOf(body.action.id)).toEqual(body.action);
    cloud.admin.advanceClock(MINUTE_MS / 2);

    const finished = expect.stringMatching(/Z$/);
    expect(await actionOf(body.action.id)).toEqual({ ...body.action, status: 'success', progress: 100, finished });
  });

  it.each([
    ['after its time', {}, MINUTE_MS],
    ['at the time that the fault states', { afterMs: 2 * MINUTE_MS }, 2 * MINUTE_MS],
  ])('ends in error and has no effect when a fault requires it, %s', async (_when, late, ms) => {
    const actionError = { code: 'unknown_error', message: 'sorry' };
    cloud.admin.addFaults({ effect: { actionError: { ...actionError, ...late } } });

    const path = await create();
    const id = writesTo(path)[0]?.actionId as number;
    cloud.admin.advanceClock(ms - MINUTE_MS / 2);
    expect(await actionOf(id)).toMatchObject({ status: 'running', error: null });
    cloud.admin.advanceClock(MINUTE_MS / 2);

    expect(await actionOf(id)).toMatchObject({ status: 'error', error: actionError });
    expect((await cloud.call('GET', path)).status).toBe(404);
    expect(writesTo(path)).toMatchObject([{ actionError }]);
  });
});

describe('a refusal', () => {
  it.each<[string, string, unknown, number, string, string]>([
    ['POST', SETS, [], 400, 'json_error', 'the body must be a JSON object'],
    ['GET', '/zones/%zz', undefined, 400, 'json_error', 'the request cannot be read'],
    ['GET', '/volumes', undefined, 404, 'not_found', 'path not found'],
    ['GET', `${SETS}/gone/A`, undefined, 404, 'not_found', 'rrset not found'],
    ['GET', '/zones/9/rrsets', undefined, 404, 'not_found', 'zone not found'],
    ['GET', '/actions/1', undefined, 404, 'not_found', 'action not found'],
    ['POST', '/zones', {}, 405, 'method_not_allowed', 'method not allowed'],
  ])('of %s %s %j is %i %s', async (method, path, body, status, code, message) => {
    const answer = await cloud.call(method, path, body);

    expect([answer.status, answer.body]).toEqual([status, { error: { code, message, details: null } }]);
  });

  it.each<[Record<string, string>, string]>([
    [{}, 'token is required'],
    [{ Authorization: `Basic ${TOKEN}` }, 'token is required'],
    [{ Authorization: 'Bearer wrong' }, 'the token you have provided is invalid'],
  ])('of requests with %j says: %s', async (headers, message) => {
    const { status, body } = await cloud.call('GET', '/zones', undefined, headers);

    expect([status, body]).toEqual([401, { error: { code: 'unauthorized', message, details: null } }]);
  });
});

describe('the request budget', () => {
  afterEach(() => cloud.admin.setBudget({ requestsPerHour: 3600 }));

  it('is charged for every request, stated in the headers, and refilled as the clock advances', async () => {
    cloud.admin.setBudget({ requestsPerHour: 36, remaining: 2 });

    const answers = [await cloud.call('GET', '/zones', undefined, {}), await cloud.call('GET', '/nowhere')];
    const refused = await cloud.call('GET', '/zones');
    cloud.admin.advanceClock(100_000);
    const later = await cloud.call('GET', '/zones');

    const stated = answers.map(({ headers }) => ['Limit', 'Remaining'].map((name) => headers.get(`RateLimit-${name}`)));
    expect(stated).toEqual([
      ['36', '1'],
      ['36', '0'],
    ]);
    expect([refused.status, refused.body.error.code, later.status]).toEqual([429, 'rate_limit_exceeded', 200]);
  });

  it('is separate for each project', async () => {
    cloud.admin.setBudget({ remaining: 0 });

    const other = await cloud.call('GET', '/pricing', undefined, { Authorization: `Bearer ${OTHER_PROJECT}` });

    expect([other.status, other.headers.get('RateLimit-Remaining')]).toEqual([200, '3599']);
    expect((await cloud.call('GET', '/zones')).status).toBe(429);
  });
});

describe('an injected fault', () => {
  const write = async () => {
    sets += 1;
    const path = `${SETS}/faulty-${sets}/A`;
    const body = { name: `faulty-${sets}`, type: 'A', records: records('192.0.2.1') };
    return { answer: cloud.call('POST', SETS, body), isPerformed: () => writesTo(path).length === 1 };
  };

  it.each<[FaultEffect, number, unknown]>([
    [{ status: 503 }, 503, { error: { code: 'unavailable', message: 'injected fault', details: null } }],
    [
      { status: 423, code: 'locked', message: 'busy' },
      423,
      { error: { code: 'locked', message: 'busy', details: null } },
    ],
    [{ status: 500, body: { a: 1 } }, 500, { a: 1 }],
  ])('%j replaces the answer of the API', async (effect, status, body) => {
    cloud.admin.addFaults({ effect });

    const { answer, isPerformed } = await write();

    expect([(await answer).status, (await answer).body, isPerformed()]).toEqual([status, body, false]);
  });

  it('can perform the request before it answers', async () => {
    cloud.admin.addFaults({ effect: { status: 504, perform: true } });

    const { answer, isPerformed } = await write();

    expect([(await answer).body.error.code, isPerformed()]).toEqual(['timeout', true]);
  });

  it.each<[FaultEffect, boolean]>([
    [{ reset: 'before' }, false],
    [{ reset: 'after' }, true],
    [{ truncate: true }, true],
  ])('%j breaks the connection', async (effect, happens) => {
    cloud.admin.addFaults({ effect });

    const { answer, isPerformed } = await write();

    await expect(answer).rejects.toThrow();
    expect(isPerformed()).toBe(happens);
  });

  it('can leave a request without an answer until the cloud is closed', async () => {
    const own = await startTestCloud();
    own.admin.addFaults({ match: { method: 'POST' }, effect: { hang: true } });

    const hanging = own.call('POST', SETS, {});
    hanging.catch(() => {});
    await expect(Promise.race([hanging, own.call('GET', '/zones')])).resolves.toMatchObject({ status: 200 });

    await own.close();
    await expect(hanging).rejects.toThrow();
  });
});

describe('a server', () => {
  let id = 4710;
  beforeEach(() => {
    id += 1;
  });
  const call = (method: string, path: string, body?: unknown, token = PROJECT) =>
    cloud.call(method, path, body, { Authorization: `Bearer ${token}` });
  const read = async () => (await call('GET', `/servers/${id}`)).body.server;
  const rebuild = (body: unknown = { image: 'ubuntu-24.04', user_data: '#cloud-config' }) =>
    call('POST', `/servers/${id}/actions/rebuild`, body);
  const held = () => cloud.admin.servers().find((server) => server.id === id);

  it('is visible with every token of its project only', async () => {
    cloud.admin.addServer(PROJECT, { name: 'web' });
    cloud.admin.addProjectToken(SAME_PROJECT, { sameProjectAs: PROJECT });

    expect(await read()).toMatchObject({ id, name: 'web', status: 'running' });
    expect((await call('GET', '/servers', undefined, SAME_PROJECT)).body.servers).toHaveLength(1);
    expect((await call('GET', `/servers/${id}`, undefined, OTHER_PROJECT)).body.error.code).toBe('not_found');
    expect((await call('GET', '/servers', undefined, OTHER_PROJECT)).body.servers).toEqual([]);
  });

  it('is locked during a rebuild, and only then shows the image', async () => {
    cloud.admin.addServer(PROJECT, { image: 'debian-12' });

    const { status, body } = await rebuild();

    expect([status, body.action.status, body.root_password]).toEqual([201, 'running', null]);
    expect(await read()).toMatchObject({ locked: true, status: 'rebuilding', image: { name: 'debian-12' } });
    expect((await rebuild()).body.error.code).toBe('locked');
    cloud.admin.advanceClock(MINUTE_MS);
    expect(await read()).toMatchObject({ locked: false, status: 'running', image: { name: 'ubuntu-24.04' } });
    expect((await call('GET', `/actions/${body.action.id}`)).body.action).toMatchObject({ status: 'success' });
  });

  it('is erased again by each rebuild', async () => {
    cloud.admin.addServer(PROJECT);
    await rebuild();
    cloud.admin.advanceClock(MINUTE_MS);
    await rebuild({ image: 'ubuntu-24.04' });

    expect(held()).toMatchObject({ rebuilds: 2, userData: '#cloud-config' });
    const { actions } = (await call('GET', `/servers/${id}/actions?sort=id:desc`)).body;
    expect(actions.map(({ command }: { command: string }) => command)).toEqual(['rebuild_server', 'rebuild_server']);
    expect(actions[0].id).toBeGreaterThan(actions[1].id);
  });

  it.each<[string, object, unknown, number, string]>([
    ['is protected', { protection: { delete: true, rebuild: true } }, undefined, 423, 'protected'],
    ['is locked', { locked: true }, undefined, 423, 'locked'],
    ['is to have an unknown image', {}, { image: 'templeos' }, 404, 'not_found'],
  ])('is not rebuilt if it %s', async (_what, options, body, status, code) => {
    cloud.admin.addServer(PROJECT, options);

    const answer = await rebuild(body);

    expect([answer.status, answer.body.error.code, held()?.rebuilds]).toEqual([status, code, 0]);
  });

  it('has rebuilds that can be made to fail', async () => {
    cloud.admin.addServer(PROJECT);
    const actionError = { code: 'action_failed', message: 'no' };
    cloud.admin.addFaults({ match: { method: 'POST', path: '/actions/rebuild' }, effect: { actionError } });
    const { body } = await rebuild();
    cloud.admin.advanceClock(MINUTE_MS);

    const { action } = (await call('GET', `/actions/${body.action.id}`)).body;
    expect(action).toMatchObject({ status: 'error', error: actionError });
  });
});

describe('a restart', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'local-cloud-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  const journal = () => join(dataDir, 'dns.jsonl');
  /** Runs `work` on a cloud with the data folder and stops it. */
  async function run<T>(work: (cloud: TestCloud) => Promise<T> | T): Promise<T> {
    const own = await startTestCloud({ dataDir });
    try {
      return await work(own);
    } finally {
      await own.close();
    }
  }
  const createOn = (own: TestCloud, name: string) =>
    own.call('POST', '/zones/7001/rrsets', { name, type: 'A', records: records('192.0.2.1') });

  it('keeps rrsets, actions and zones, with one line for each, and never reuses an action id', async () => {
    const read = async (own: TestCloud) => ({
      zones: own.admin.zones(),
      list: (await own.call('GET', '/zones/7001/rrsets')).body,
      actions: (await own.call('GET', '/actions?id=880001&id=880002&id=880003')).body,
    });
    const before = await run(async (own) => {
      await createOn(own, 'b');
      await createOn(own, 'a');
      await own.call('DELETE', '/zones/7001/rrsets/b/A');
      own.admin.putRrset('demo.test', 'c', 'A', { records: records('192.0.2.1') });
      return read(own);
    });

    expect([await run(read), await run(read)]).toEqual([before, before]);
    // Two zones with two sets, two more sets, three actions.
    expect(readFileSync(journal(), 'utf8').trim().split('\n')).toHaveLength(11);
    expect((await run((own) => createOn(own, 'd'))).body.action.id).toBe(880004);
  });

  it('has the zone that was written into the folder', async () => {
    const zone = {
      id: 7001,
      name: 'example.net',
      created: '2026-01-01T00:00:00Z',
      ttl: 60,
      labels: {},
      nameServers: [],
    };
    const set = { name: 'a', type: 'A', ttl: 300, labels: {}, protection: { change: false } };
    writeZone(dataDir, zone, [{ ...set, records: [{ value: '192.0.2.1', comment: '' }] }]);

    const { body } = await run((own) => own.call('GET', '/zones/example.net/rrsets'));

    expect(body.rrsets).toEqual([{ id: 'a/A', ...set, records: [{ value: '192.0.2.1', comment: '' }], zone: 7001 }]);
  });

  it('does not know what was written after the end, when another process may own the file', async () => {
    const ended = await run((own) => own);
    const before = readFileSync(journal(), 'utf8');

    ended.admin.putRrset('demo.test', 'late', 'A', { records: records('192.0.2.1') });

    expect(readFileSync(journal(), 'utf8')).toBe(before);
  });

  it('drops a truncated last line', async () => {
    await run((own) => createOn(own, 'a'));
    appendFileSync(journal(), '[["set 7001 c/A",{"na');

    const names = await run((own) => own.admin.zones()[0]?.rrsets.map(({ name }) => name));

    expect(names).toEqual(['@', '@', 'a']);
  });

  it('refuses a journal with damage elsewhere, and says what to do', async () => {
    appendFileSync(journal(), '{"half\n[]\n');

    await expect(startTestCloud({ dataDir })).rejects.toThrow(/dns\.jsonl is damaged at line 1\. Delete the file/);
  });
});
