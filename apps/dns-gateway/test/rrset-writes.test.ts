import { checkDnsAnswer } from '@corral/contracts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from './support/expect-refusal.js';
import { type Answer, startGateway, type TestGateway, UPSTREAM_TOKEN, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
let made = 0;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());
afterEach(() => {
  gateway.cloud.admin.setExtraFields({});
  gateway.cloud.admin.clearFaults();
});

const at = (name: string, below = '', type = 'A') => `/zones/${ZONE}/rrsets/${name}/${type}${below}`;
const read = async (name: string) => (await gateway.call('GET', at(name))).json?.rrset;
const upstream = (name: string, type = 'A') =>
  gateway.cloud.admin.zones()[0]?.rrsets.find((rrset) => rrset.name === name && rrset.type === type);
const post = (name: string, action: string, body: object) =>
  gateway.call('POST', at(name, `/actions/${action}`), { body });

/** Creates a set of acme with two records. */
async function aSet(change: object = {}): Promise<string> {
  made += 1;
  const name = `set-${made}.acme`;
  const records = [{ value: '192.0.2.1' }, { value: '192.0.2.2', comment: 'blue' }];
  const body = { name, type: 'A', ttl: 300, labels: { env: 'prod' }, records, ...change };
  expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).status).toBe(201);
  return name;
}

/** Asserts that a write causes exactly one upstream call. */
async function costingOneCall(send: () => Promise<Answer>): Promise<Answer> {
  const before = gateway.upstreamCalls();
  const answer = await send();
  expect(gateway.upstreamCalls()).toBe(before + 1);
  return answer;
}

/** Asserts that a later read shows exactly what the upstream holds, in every field. */
async function expectMirrored(name: string): Promise<void> {
  const held = upstream(name);
  const shown = await read(name);
  if (held === undefined) expect(shown).toBeUndefined();
  else {
    const { ttl, labels, protection, records } = held;
    expect(shown).toEqual({
      id: `${name}/A`,
      name,
      type: 'A',
      zone: gateway.zoneId,
      ttl,
      labels,
      protection,
      records,
    });
  }
}

describe('POST /zones/{zone}/rrsets', () => {
  it.each([
    ['all fields', { ttl: 300, labels: { env: 'prod' }, records: [{ value: '192.0.2.1', comment: 'blue' }] }],
    ['only what is required', { records: [{ value: '192.0.2.1' }] }],
    ['a null ttl and a null comment', { ttl: null, records: [{ value: '192.0.2.1', comment: null }] }],
    ['an unknown field', { records: [{ value: '192.0.2.1', weight: 3 }], later: { deep: [1, null] } }],
  ])('with %s answers 201 with rrset and action, after one upstream call', async (_what, fields) => {
    made += 1;
    const body = { name: `new-${made}.acme`, type: 'A', ...fields };

    const answer = await costingOneCall(() => gateway.call('POST', `/zones/${ZONE}/rrsets`, { body }));

    expect(answer.status).toBe(201);
    checkDnsAnswer.created(answer.json);
    expect(await read(body.name)).toEqual(answer.json.rrset);
    await expectMirrored(body.name);
    expect(gateway.cloud.admin.writes().at(-1)?.body).toEqual(body);
  });

  it('works the same with the ID of the zone', async () => {
    const body = { name: 'by-id.acme', type: 'TXT', records: [{ value: '"x"' }] };

    const answer = await costingOneCall(() => gateway.call('POST', `/zones/${gateway.zoneId}/rrsets`, { body }));

    expect([answer.status, answer.json.rrset.id]).toEqual([201, 'by-id.acme/TXT']);
  });

  it.each([
    ['CNAME', 'target.example.'],
    ['AAAA', '2001:db8::1'],
    ['TXT', '"v=1" "two"'],
  ])('writes the type %s', async (type, value) => {
    const body = { name: `typed-${type.toLowerCase()}.acme`, type, records: [{ value }] };

    expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).status).toBe(201);
    expect(upstream(body.name, type)?.records).toEqual([{ value, comment: '' }]);
  });

  it('writes a wildcard and the name of the team itself', async () => {
    for (const name of ['*.apps.acme', 'acme']) {
      const body = { name, type: 'A', records: [{ value: '192.0.2.1' }] };
      expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).status).toBe(201);
      await expectMirrored(name);
    }
  });
});

describe('writes of one set', () => {
  it.each<[string, object, string, string[]]>([
    ['set_records', { records: [{ value: '192.0.2.9' }] }, 'set_rrset_records', ['192.0.2.9']],
    [
      'add_records',
      { records: [{ value: '192.0.2.3' }] },
      'add_rrset_records',
      ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
    ],
    [
      'add_records',
      { records: [{ value: '192.0.2.3' }], ttl: 300 },
      'add_rrset_records',
      ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
    ],
    ['remove_records', { records: [{ value: '192.0.2.1', comment: 'any' }] }, 'remove_rrset_records', ['192.0.2.2']],
    ['change_ttl', { ttl: 600 }, 'change_rrset_ttl', ['192.0.2.1', '192.0.2.2']],
    ['change_ttl', { ttl: null }, 'change_rrset_ttl', ['192.0.2.1', '192.0.2.2']],
  ])('%s %j answers 201 with the action, and reads show it immediately', async (action, body, command, values) => {
    const name = await aSet();

    const answer = await costingOneCall(() => post(name, action, body));

    expect([answer.status, answer.json.action?.command]).toEqual([201, command]);
    checkDnsAnswer.action(answer.json);
    expect((await read(name)).records.map((record: { value: string }) => record.value)).toEqual(values);
    await expectMirrored(name);
  });

  it('add_records creates a missing set, with its ttl', async () => {
    const answer = await post('added.acme', 'add_records', { records: [{ value: '192.0.2.1' }], ttl: 120 });

    expect(answer.status).toBe(201);
    expect(await read('added.acme')).toMatchObject({ ttl: 120, labels: {} });
    await expectMirrored('added.acme');
  });

  it('remove_records of the last value deletes the set, and set_records then does not find it', async () => {
    const name = await aSet();

    const answer = await post(name, 'remove_records', { records: [{ value: '192.0.2.1' }, { value: '192.0.2.2' }] });

    expect(answer.status).toBe(201);
    expectError(await gateway.call('GET', at(name)), 404, 'not_found');
    expectError(await post(name, 'set_records', { records: [{ value: '192.0.2.1' }] }), 404, 'not_found');
    await expectMirrored(name);
  });

  it('DELETE answers 201 with the action, and reads and lists no longer show the set', async () => {
    const name = await aSet();

    const answer = await costingOneCall(() => gateway.call('DELETE', at(name)));

    expect([answer.status, answer.json.action.command]).toEqual([201, 'delete_rrset']);
    checkDnsAnswer.action(answer.json);
    await expectMirrored(name);
    expect((await gateway.call('GET', `/zones/${ZONE}/rrsets?name=${name}`)).json.rrsets).toEqual([]);
    expectError(await gateway.call('DELETE', at(name)), 404, 'not_found');
  });
});

describe('PUT of a set', () => {
  it.each([['{}'], ['{"labels":{"env":"prod"}}'], ['{"labels":null}']])(
    'with %s changes nothing: 200 with the current set, without an upstream call',
    async (body) => {
      const name = await aSet();
      await post(name, 'change_ttl', { ttl: 900 });
      const before = gateway.upstreamCalls();

      const answer = await gateway.call('PUT', at(name), { body });

      expect([answer.status, gateway.upstreamCalls()]).toEqual([200, before]);
      checkDnsAnswer.rrset(answer.json);
      expect(answer.json.rrset).toMatchObject({ ttl: 900, labels: { env: 'prod' } });
    },
  );

  it.each([[{ env: 'test' }], [{}], [{ env: 'prod', tier: '' }]])(
    'with the labels %j replaces them',
    async (labels) => {
      const name = await aSet();

      const answer = await costingOneCall(() => gateway.call('PUT', at(name), { body: { labels } }));

      expect([answer.status, answer.json.rrset.labels]).toEqual([200, labels]);
      checkDnsAnswer.rrset(answer.json);
      await expectMirrored(name);
    },
  );

  it('with records is refused with the message of the upstream', async () => {
    const name = await aSet();

    const answer = await gateway.call('PUT', at(name), { body: { records: [{ value: '192.0.2.9' }] } });

    expectError(answer, 422, 'invalid_input');
    expect(answer.json.error).toMatchObject({ message: "can't update records with this endpoint", details: null });
    await expectMirrored(name);
  });

  it('of a missing set is answered 404', async () => {
    expectError(await gateway.call('PUT', at('none.acme'), { body: {} }), 404, 'not_found');
  });
});

describe('what the gateway passes on', () => {
  it('every answer keeps the fields that the upstream adds later', async () => {
    gateway.cloud.admin.setExtraFields({ rrset: { geo: { eu: [1] } }, record: { weight: 2 }, action: { region: 'x' } });
    const name = await aSet();
    const added = await post(name, 'add_records', { records: [{ value: '192.0.2.7' }] });

    const rrset = await read(name);

    expect(rrset).toMatchObject({ geo: { eu: [1] }, records: [{ weight: 2 }, { weight: 2 }, { value: '192.0.2.7' }] });
    expect(added.json.action.region).toBe('x');
    expect((await gateway.call('GET', `/actions/${added.json.action.id}`)).json.action.region).toBe('x');
  });

  it.each([
    [
      422,
      '{"error":{"code":"invalid_input","message":"no  such\\tvalue","details":{"fields":[{"name":"records[0].records[0].value","messages":["x"]}]},"later":1}}',
    ],
    [423, '{"error":{"code":"locked","message":"busy","details":null}}'],
    [409, '{ "error" : {"code":"conflict","message":"changed meanwhile","details":{}} }'],
    [403, '{"error":{"code":"resource_limit_exceeded","message":"too many","details":{"limits":[{"name":"x"}]}}}'],
    [412, '{"error":{"code":"resource_unavailable","message":"ö","details":null}}'],
  ])('an upstream refusal arrives with its status %i, its code and its body byte for byte', async (status, body) => {
    const name = await aSet();
    gateway.cloud.admin.addFaults({ match: { method: 'POST', path: name }, effect: { status, body } });

    const answer = await post(name, 'set_records', { records: [{ value: '192.0.2.9' }] });

    expect([answer.status, answer.text]).toEqual([status, body]);
    await expectMirrored(name);
  });

  it('values arrive and return as they were written: the gateway does not respell, sort or merge them', async () => {
    const values = ['2001:DB8:0:0:0:0:0:1', '2001:db8::2', '2001:0db8::0003'];
    const body = { name: 'spelled.acme', type: 'AAAA', records: values.map((value) => ({ value })) };
    await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body });

    const { json } = await gateway.call('GET', at('spelled.acme', '', 'AAAA'));

    expect(json.rrset.records.map((record: { value: string }) => record.value)).toEqual(values);
    expect(upstream('spelled.acme', 'AAAA')?.records.map(({ value }) => value)).toEqual(values);
  });

  it('no header of the upstream', async () => {
    const name = await aSet();
    const answer = await post(name, 'change_ttl', { ttl: 600 });

    expect(answer.headers.get('link')).toBeNull();
    expect(answer.headers.get('ratelimit-limit')).toBe('100000');
  });
});

it('every write is in the audit log with token, name, type and the upstream’s answer', async () => {
  const name = await aSet();
  const accepted = await post(name, 'add_records', { records: [{ value: '192.0.2.3' }] });
  const refused = await post(name, 'add_records', { records: [{ value: '192.0.2.3', comment: 'again' }] });

  const { rows } = await gateway.pool.query(
    `SELECT token_id, type, operation, state, upstream_status, upstream_body FROM dns_audit_entry
     WHERE name = $1 AND team_id = $2 ORDER BY id`,
    [name, gateway.acme.id],
  );

  const written = { token_id: gateway.acme.tokenId, type: 'A' };
  expect(rows).toMatchObject([
    { ...written, operation: 'create', state: 'completed', upstream_status: 201 },
    { ...written, operation: 'add_records', state: 'completed', upstream_status: 201, upstream_body: accepted.text },
    { ...written, operation: 'add_records', state: 'refused', upstream_status: 422, upstream_body: refused.text },
  ]);
});

describe('what the upstream decides', () => {
  it.each([
    ['a TTL beyond 31 bits', { ttl: 2 ** 31, records: [{ value: '192.0.2.1' }] }],
    ['the same value twice', { records: [{ value: '192.0.2.1' }, { value: '192.0.2.1' }] }],
  ])('is refused with the message of the upstream: %s', async (_what, more) => {
    const body = { name: 'judged.acme', type: 'A', ...more };

    const answer = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body });

    const direct = await fetch(`${gateway.cloud.apiUrl}/zones/${ZONE}/rrsets`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${UPSTREAM_TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect([answer.status, answer.text]).toEqual([422, await direct.text()]);
  });
});
