import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { writeZone } from '../src/index.js';
import { records, startTestCloud, type TestCloud, TOKEN } from './start-test-cloud.js';

const SETS = '/zones/example.net/rrsets';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
  cloud.admin.addServer(TOKEN, { id: 4_700 });
});
afterAll(() => cloud.close());

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
});

it('images are filtered by what a request asks for, and by nothing else', async () => {
  const namesAt = async (query: string): Promise<string[]> => {
    const { body } = await cloud.call('GET', `/images${query}`);
    return body.images.map(({ name, architecture }: Record<string, string>) => `${name} ${architecture}`);
  };

  const x86 = ['ubuntu-24.04 x86', 'ubuntu-22.04 x86'];
  expect(await namesAt('')).toEqual(expect.arrayContaining([...x86, 'ubuntu-24.04 arm', 'ubuntu-22.04 arm']));
  expect(await namesAt('?architecture=x86')).toEqual(x86);
  expect(await namesAt('?name=ubuntu-24.04&architecture=x86')).toEqual(['ubuntu-24.04 x86']);
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

describe('a refusal', () => {
  it.each<[string, string, unknown, number, string, string]>([
    ['POST', SETS, [], 400, 'json_error', 'the body must be a JSON object'],
    ['GET', '/volumes', undefined, 404, 'not_found', 'path not found'],
    ['GET', `${SETS}/gone/A`, undefined, 404, 'not_found', 'rrset not found'],
    ['GET', '/zones/9/rrsets', undefined, 404, 'not_found', 'zone not found'],
    ['GET', '/actions/1', undefined, 404, 'not_found', 'action not found'],
  ])('of %s %s %j is %i %s', async (method, path, body, status, code, message) => {
    const answer = await cloud.call(method, path, body);

    expect([answer.status, answer.body]).toEqual([status, { error: { code, message, details: null } }]);
  });

  it.each<[string, string, unknown, string]>([
    ['POST', SETS, { name: 'a', type: 'A', records: records('x'), labels: { 'a b': '' } }, 'labels'],
    ['POST', '/placement_groups', { name: 'a', labels: { a: 'b c' } }, 'labels'],
    ['PUT', '/servers/4700', { labels: { a: '-' } }, 'labels'],
    ['POST', '/servers/4700/actions/rebuild', { image: 161_547_269, user_data: 'é'.repeat(16_385) }, 'user_data'],
    ...['a>1', 'a!=b', '!a=b', 'a in (b', ',', 'a=b c'].map((selector): [string, string, unknown, string] => [
      'GET',
      `/servers?label_selector=${encodeURIComponent(selector)}`,
      undefined,
      'label_selector',
    ]),
  ])('of %s %s names the field', async (method, path, body, field) => {
    const { status, body: answer } = await cloud.call(method, path, body);

    expect([status, answer.error.code, answer.error.details.fields[0].name]).toEqual([422, 'invalid_input', field]);
  });

  it('of a write with a token that may only read names it', async () => {
    cloud.admin.addProjectToken('reader', { readOnly: true });
    const call = (method: string) =>
      cloud.call(method, '/placement_groups', undefined, { Authorization: 'Bearer reader' });

    const answers = [await call('GET'), await call('POST')];

    expect(answers.map(({ status, body }) => [status, body.error?.code])).toEqual([
      [200, undefined],
      [401, 'token_readonly'],
    ]);
  });

  it.each([
    ['POST', '/actions/poweroff', 'poweroff'],
    ['POST', '/actions/change_protection', 'change_protection'],
    ['DELETE', '', 'delete'],
  ])('of what Corral must never ask for is remembered: %s of a server%s', async (method, path, harm) => {
    const { id } = cloud.admin.addServer(TOKEN);

    const statuses = [
      await cloud.call(method, `/servers/${id}${path}`),
      await cloud.call(method, `/servers/${id}${path}`),
    ];

    expect(statuses.map(({ status }) => status)).toEqual([405, 405]);
    expect(cloud.admin.servers().find((server) => server.id === id)?.harms).toEqual([harm, harm]);
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
    const refused = await cloud.call('GET', '/zones/demo.test');
    cloud.admin.advanceClock(100_000);
    const later = await cloud.call('GET', '/zones/demo.test');

    const stated = answers.map(({ headers }) => ['Limit', 'Remaining'].map((name) => headers.get(`RateLimit-${name}`)));
    expect(stated).toEqual([
      ['36', '1'],
      ['36', '0'],
    ]);
    expect([refused.status, refused.body.error.code, later.status]).toEqual([429, 'rate_limit_exceeded', 200]);
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
    // The form, two zones with two sets, two more sets, three actions.
    expect(readFileSync(journal(), 'utf8').trim().split('\n')).toHaveLength(12);
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

  it('drops a truncated last line', async () => {
    await run((own) => createOn(own, 'a'));
    appendFileSync(journal(), '[["set 7001 c/A",{"na');

    const names = await run((own) => own.admin.zones()[0]?.rrsets.map(({ name }) => name));

    expect(names).toEqual(['@', '@', 'a']);
  });

  it('refuses a journal with damage elsewhere, and says what to do', async () => {
    appendFileSync(journal(), '{"form":4}\n{"half\n[]\n');

    await expect(startTestCloud({ dataDir })).rejects.toThrow(/dns\.jsonl is damaged at line 2\. Delete the file/);
  });
});
