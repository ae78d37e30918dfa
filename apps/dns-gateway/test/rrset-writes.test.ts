import { checkDnsAnswer } from '@corral/contracts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mirroredRecords, upstreamRecords } from './support/audit.js';
import { expectError } from './support/expect-refusal.js';
import { type Answer, startGateway, type TestGateway, type TestTeam, ZONE } from './support/start-gateway.js';

describe('writes', () => {
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
    if (held === undefined) return expect(shown).toBeUndefined();
    const { ttl, labels, protection, records } = held;
    const fields = { ttl, labels, protection, records };
    expect(shown).toEqual({ id: `${name}/A`, name, type: 'A', zone: gateway.zoneId, ...fields });
  }

  describe('POST /zones/{zone}/rrsets', () => {
    it.each([
      ['all fields', { ttl: 300, labels: { env: 'prod' }, records: [{ value: '192.0.2.1', comment: 'blue' }] }],
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

    it('writes a wildcard and the name of the team itself', async () => {
      for (const name of ['*.apps.acme', 'acme']) {
        const body = { name, type: 'A', records: [{ value: '192.0.2.1' }] };
        expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body })).status).toBe(201);
        await expectMirrored(name);
      }
    });
  });

  describe('writes of one set', () => {
    const [both, three] = [['192.0.2.1', '192.0.2.2'], '192.0.2.3'];
    it.each<[string, object, string, string[]]>([
      ['set_records', { records: [{ value: '192.0.2.9' }] }, 'set_rrset_records', ['192.0.2.9']],
      ['add_records', { records: [{ value: three }] }, 'add_rrset_records', [...both, three]],
      ['add_records', { records: [{ value: three }], ttl: 300 }, 'add_rrset_records', [...both, three]],
      ['remove_records', { records: [{ value: '192.0.2.1', comment: 'any' }] }, 'remove_rrset_records', ['192.0.2.2']],
      ['change_ttl', { ttl: 600 }, 'change_rrset_ttl', both],
      ['change_ttl', { ttl: null }, 'change_rrset_ttl', both],
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
    it.each(['{}', '{"labels":null}'])(
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

    it.each([[{}], [{ env: 'prod', tier: '' }]])('with the labels %j replaces them', async (labels) => {
      const name = await aSet();

      const answer = await costingOneCall(() => gateway.call('PUT', at(name), { body: { labels } }));

      expect([answer.status, answer.json.rrset.labels]).toEqual([200, labels]);
      checkDnsAnswer.rrset(answer.json);
      await expectMirrored(name);
    });

    it('with records is refused with the message of the upstream', async () => {
      const name = await aSet();

      const answer = await gateway.call('PUT', at(name), { body: { records: [{ value: '192.0.2.9' }] } });

      expectError(answer, 422, 'invalid_input');
      expect(answer.json.error).toMatchObject({ message: "can't update records with this endpoint", details: null });
      await expectMirrored(name);
    });
  });

  describe('what the gateway passes on', () => {
    it('every answer keeps the fields that the upstream adds later', async () => {
      gateway.cloud.admin.setExtraFields({
        zone: { later: true },
        rrset: { geo: { eu: [1] } },
        record: { weight: 2 },
        action: { region: 'x' },
      });
      const name = await aSet();
      const added = await post(name, 'add_records', { records: [{ value: '192.0.2.7' }] });
      await gateway.syncZone();

      const rrset = await read(name);

      expect(rrset).toMatchObject({
        geo: { eu: [1] },
        records: [{ weight: 2 }, { weight: 2 }, { value: '192.0.2.7' }],
      });
      expect((await gateway.call('GET', `/zones/${ZONE}`)).json.zone.later).toBe(true);
      expect(added.json.action.region).toBe('x');
      expect((await gateway.call('GET', `/actions/${added.json.action.id}`)).json.action.region).toBe('x');
    });

    it('values arrive and return as they were written: the gateway does not respell, sort or merge them', async () => {
      const values = ['2001:DB8:0:0:0:0:0:1', '2001:db8::2', '2001:0db8::0003'];
      const body = { name: 'spelled.acme', type: 'AAAA', records: values.map((value) => ({ value })) };
      await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body });

      const { json } = await gateway.call('GET', at('spelled.acme', '', 'AAAA'));

      expect(json.rrset.records.map((record: { value: string }) => record.value)).toEqual(values);
      expect(upstream('spelled.acme', 'AAAA')?.records.map(({ value }) => value)).toEqual(values);
    });
  });

  it('every write is in the audit log with token, name, type, request and the upstream’s answer', async () => {
    const name = await aSet();
    const accepted = await post(name, 'add_records', { records: [{ value: '192.0.2.3' }] });
    const refused = await post(name, 'add_records', { records: [{ value: '192.0.2.3', comment: 'again' }] });
    const unsent = await post('audited.globex', 'add_records', { records: [{ value: '192.0.2.3' }] });

    const { rows } = await gateway.pool.query(
      `SELECT token_id, type, operation, state, request_id, upstream_status, upstream_body FROM dns_audit_entry
       WHERE name IN ($1, 'audited.globex') AND team_id = $2 ORDER BY id`,
      [name, gateway.acme.id],
    );

    const ofAdd = ({ headers }: Answer, state: string) => ({
      token_id: gateway.acme.tokenId,
      type: 'A',
      operation: 'add_records',
      state,
      request_id: headers.get('x-correlation-id'),
    });
    expect(rows).toMatchObject([
      { operation: 'create', state: 'completed', upstream_status: 201 },
      { ...ofAdd(accepted, 'completed'), upstream_status: 201, upstream_body: accepted.text },
      { ...ofAdd(refused, 'refused'), upstream_status: 422, upstream_body: refused.text },
      ofAdd(unsent, 'unsent'),
    ]);
  });
});

describe('writes through two gateways', () => {
  let gateway: TestGateway;
  let replica: TestGateway;
  beforeAll(async () => {
    // None of the many concurrent writes may be refused because it waited too long.
    gateway = await startGateway({ waitMsMax: 60_000 });
    replica = await startGateway({ beside: gateway, waitMsMax: 60_000 });
  });
  afterAll(async () => {
    await replica.close();
    await gateway.close();
  });

  const create = (name: string, through = gateway): Promise<Answer> =>
    through.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type: 'A', records: records(1) } });

  /** The counted refusals of a name over all minutes. Each minute has one entry. */
  async function counted(name: string) {
    const { rows } = await gateway.pool.query(
      `SELECT type, operation, state::text, refusal_code AS code, team_id = $2 AS own, token_id IS NOT NULL AS token,
              sum(count)::int AS count, count(*) = count(DISTINCT minute) AS once, count(request_body)::int AS bodies
       FROM dns_audit_entry WHERE name = $1 GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY type, operation, code`,
      [name, gateway.acme.id],
    );
    return rows;
  }
  const of = (code: string, count: number) => ({
    type: 'A',
    operation: 'create',
    state: 'unsent',
    code,
    count,
    own: true,
    token: true,
    once: true,
    bodies: 0,
  });

  describe('a write that is refused before it is sent', () => {
    it('is counted for a name of another team, by all gateways in one entry per minute', async () => {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, at) => create('web.globex', at % 2 === 0 ? gateway : replica)),
      );

      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
      expect(await counted('web.globex')).toEqual([of('forbidden', 40)]);
    });

    it('is counted with a name that Postgres cannot store', async () => {
      expect((await create('a\u0000b')).status).toBe(403);

      expect(await counted('a\ufffdb')).toEqual([of('forbidden', 1)]);
    });

    it('is counted when the quota has no room for it', async () => {
      await gateway.pool.query('UPDATE team SET dns_records_max = 0 WHERE id = $1', [gateway.acme.id]);
      for (let time = 0; time < 3; time += 1) expect((await create('full.acme')).status).toBe(403);

      expect(await counted('full.acme')).toEqual([of('resource_limit_exceeded', 3)]);
      await gateway.pool.query('UPDATE team SET dns_records_max = NULL WHERE id = $1', [gateway.acme.id]);
    });
  });

  const records = (count: number) => Array.from({ length: count }, (_, at) => ({ value: `192.0.2.${at}` }));

  async function teamHolding(slug: string, count: number): Promise<TestTeam> {
    const team = await gateway.createTeam(slug);
    for (let left = count, at = 0; left > 0; left -= 50, at += 1) {
      const body = { name: `held${at}.${slug}`, type: 'A', records: records(Math.min(50, left)) };
      const { status } = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { token: team.token, body });
      expect(status).toBe(201);
    }
    return team;
  }

  it('the quota of a team holds for 64 concurrent writes to two gateways with 190 records: ten pass, and mirror and upstream end at 200', async () => {
    const team = await teamHolding('crowded', 190);
    const through = [gateway, replica];
    gateway.cloud.admin.resetCalls();

    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, at) => {
        const path = `/zones/${ZONE}/rrsets/n${at}.${team.slug}/A/actions/add_records`;
        const target = through[at % through.length] as TestGateway;
        return target.call('POST', path, { token: team.token, body: { records: records(1) } });
      }),
    );

    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(54);
    for (const { status, json } of refused) {
      checkDnsAnswer.error(json);
      expect([status, json.error.code]).toEqual([403, 'resource_limit_exceeded']);
      expect(json.error.details).toEqual({ limits: [{ name: 'records_per_team' }] });
    }
    expect(gateway.upstreamCalls()).toBe(10);
    expect(upstreamRecords(gateway, team.slug)).toBe(200);
    expect(await mirroredRecords(gateway, team.slug)).toBe(200);
  });

  it('a team at its quota can use the room that a deletion has freed, but not the room of a deletion whose action failed', async () => {
    const { slug, token } = await teamHolding('exchanging', 200);
    const send = (method: string, path: string, body?: object) =>
      gateway.call(method, `/zones/${ZONE}/rrsets${path}`, { token, ...(body === undefined ? {} : { body }) });
    // The reconciler does this. Without it, the creation of a set may still be running, and its outcome is unknown.
    await gateway.pool.query(`UPDATE dns_action SET status = 'success'`);
    const another = (at: number) => ({ name: `more${at}.${slug}`, type: 'A', records: records(50) });

    expect((await send('DELETE', `/held0.${slug}/A`)).status).toBe(201);
    expect((await send('POST', '', another(0))).status).toBe(201); // waits for the end of the deletion’s action
    gateway.cloud.admin.addFaults({
      effect: { actionError: { code: 'action_failed', message: 'no', afterMs: 200 } },
    });
    expect((await send('DELETE', `/held1.${slug}/A`)).status).toBe(201);
    const refused = await send('POST', '', another(1));

    expect([refused.status, refused.json.error.code]).toEqual([403, 'resource_limit_exceeded']);
    expect(upstreamRecords(gateway, slug)).toBe(200);
    expect(await mirroredRecords(gateway, slug)).toBe(200);
  });
});
