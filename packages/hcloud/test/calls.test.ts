import { inspect } from 'node:util';
import { type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { UpstreamUnavailable } from '../src/index.js';
import { aBaseUrl, aClient, anError, aToken, aWrite, scopeOn } from './a-client.js';
import { interceptRequests } from './intercept-requests.js';

describe('writes', () => {
  const path = '/v1/zones/7001/rrsets/app/A/actions/set_records';
  const upstream = () => nock('http://upstream.test');
  const inSeconds = (seconds: number) => String(Math.floor(Date.now() / 1_000) + seconds);

  interceptRequests();

  describe('a write', () => {
    it('sends the body with our token, and returns the answer, both byte for byte', async () => {
      const { client, calls } = aClient();
      const answer = '{ "action" : {"id": 880012, "progress": 1.0e2, "new": "\\u00e9 é"} }\n';
      const seen: { body?: unknown; headers?: Record<string, unknown> } = {};
      upstream()
        .post(path, (body) => {
          seen.body = body;
          return true;
        })
        .reply(201, ({ headers }: Request) => {
          seen.headers = Object.fromEntries(headers);
          return answer;
        });

      const outcome = await client.write(aWrite());

      expect(outcome).toEqual({ kind: 'accepted', status: 201, body: answer });
      expect(seen.body).toEqual({ records: [{ value: '192.0.2.1' }] });
      expect(seen.headers).toMatchObject({ authorization: `Bearer ${aToken}`, 'content-type': 'application/json' });
      expect(calls).toEqual([
        {
          route: 'POST /zones/{zone}/rrsets/{name}/{type}/actions/set_records',
          outcome: 'accepted',
          ms: expect.any(Number),
        },
      ]);
    });

    it('sends a DELETE without body and content type', async () => {
      const { client } = aClient();
      upstream()
        .matchHeader('content-type', (value) => value === null)
        .delete('/v1/zones/7001/rrsets/@/TXT', '')
        .reply(201, '{"action": {"id": 1}}');

      const outcome = await client.write({
        team: 'acme',
        method: 'DELETE',
        segments: ['zones', '7001', 'rrsets', '@', 'TXT'],
        body: null,
      });

      expect(outcome.kind).toBe('accepted');
    });

    it.each([
      [409, anError('conflict'), { kind: 'refused', status: 409, code: 'conflict', body: anError('conflict') }],
      [502, '<html>', { kind: 'uncertain', reason: '502 without an error body' }],
    ])('answered %i %j is sent once', async (status, body, expected) => {
      const { client, calls } = aClient();
      upstream().post(path).reply(status, body);

      const outcome = await client.write(aWrite());

      expect(outcome).toEqual(expected);
      expect(calls).toHaveLength(1);
    });
  });

  describe('a write that gets 429', () => {
    it('waits the time that the upstream states and is sent again', async () => {
      const { client, calls } = aClient({ waitMsMax: 1_500 });
      upstream().post(path).reply(429, anError('rate_limit_exceeded'), { 'Retry-After': '1' });
      upstream().post(path).reply(201, '{"action": {}}');

      const startedAt = performance.now();
      const outcome = await client.write(aWrite());

      expect(outcome.kind).toBe('accepted');
      expect(calls.map((call) => call.outcome)).toEqual(['rate_limited', 'accepted']);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(950);
    });

    it('returns the retry time if it exceeds the maximum wait', async () => {
      const { client, calls } = aClient();
      upstream()
        .post(path)
        .reply(429, '', { 'Retry-After': '17', 'RateLimit-Reset': inSeconds(600), 'RateLimit-Remaining': '0' });

      const before = Date.now();
      const outcome = await client.write(aWrite());

      expect(outcome).toEqual({
        kind: 'throttled',
        retryAfterSeconds: 17,
        resetAt: expect.any(Date),
        usedUp: 'budget',
      });
      const resetMs = outcome.kind === 'throttled' ? outcome.resetAt.getTime() - before : 0;
      expect(resetMs).toBeGreaterThanOrEqual(17_000);
      expect(resetMs).toBeLessThanOrEqual(Date.now() - before + 17_000);
      expect(calls).toHaveLength(1);
    });
  });

  describe('a caller who aborts', () => {
    it('while it waits for budget causes no call', async () => {
      const { client, calls } = aClient({ waitMsMax: 10_000 });
      upstream().post(path).reply(429, '', { 'Retry-After': '5' });
      const giveUp = new AbortController();
      const writing = client.write(aWrite(), { scope: scopeOn(giveUp.signal) });
      while (calls.length === 0) await new Promise(setImmediate);

      giveUp.abort();

      expect(await writing).toEqual({ kind: 'unreached', reason: 'the caller gave up before it was sent' });
      expect(calls).toHaveLength(1);
    });

    it('during the call still gets its outcome', async () => {
      const { client } = aClient();
      const giveUp = new AbortController();
      upstream()
        .post(path)
        .reply(201, () => {
          giveUp.abort();
          return '{"action": {}}';
        });

      const outcome = await client.write(aWrite(), { scope: scopeOn(giveUp.signal) });

      expect(outcome.kind).toBe('accepted');
    });
  });

  describe('connectHcloud', () => {
    it.each([
      ['ftp://upstream.test'],
      ['http://user:secret@upstream.test/v1'],
      [`${aBaseUrl}?a=b`],
      [`${aBaseUrl}#a`],
      ['upstream.test'],
    ])('refuses the base address %s', (baseUrl) => {
      expect(() => aClient({ baseUrl })).toThrow();
    });

    it.each([[''], ['two words'], ['line\nbreak'], ['ünicode']])(
      'refuses the token %j without repeating it',
      (token) => {
        expect(() => aClient({ token })).toThrow(/The token .* Set it again/);
      },
    );
  });
});

describe('reads', () => {
  const upstream = () => nock('http://upstream.test');
  /** Repeating a read takes longer. */
  const withoutRepetition = { waitMsMax: 90 };
  const zoneText = '{"id": 7001, "name": "example.net", "mode": "primary",  "ttl":3.6e3, "new": {"a":[ ]}}';
  const rrsetText =
    '{"id": "app/A", "name":"app", "type": "A",\n "ttl": null, "records": [ {"value":"192.0.2.1","comment":""} ]}';

  interceptRequests();

  describe('readZone', () => {
    it.each([
      ['by name', 'example.net', '/v1/zones/example.net'],
      ['by id', 7001, '/v1/zones/7001'],
    ])('finds a zone %s and keeps its text', async (_what, idOrName, path) => {
      const { client } = aClient();
      upstream().get(path).reply(200, `{ "zone" : ${zoneText} }`);

      const zone = await client.readZone(idOrName);

      expect(zone).toEqual({ kind: 'found', id: 7001, name: 'example.net', mode: 'primary', body: zoneText });
    });

    it('returns null for an absent zone', async () => {
      const { client } = aClient();
      upstream().get('/v1/zones/example.net').reply(404, anError('not_found'));

      expect(await client.readZone('example.net')).toEqual({ kind: 'absent' });
    });

    it.each([
      ['another zone', `{"zone": ${zoneText.replace('example.net', 'example.com')}}`],
      ['a zone without id', '{"zone": {"name": "example.net", "mode": "primary"}}'],
      ['a zone with an id beyond 2^53', '{"zone": {"id": 9007199254740993, "name": "example.net", "mode": "primary"}}'],
      ['no zone', '{"zones": []}'],
    ])('rejects %s as unusable', async (_what, body) => {
      const { client } = aClient(withoutRepetition);
      upstream().get('/v1/zones/example.net').reply(200, body);

      await expect(client.readZone('example.net')).rejects.toThrow(UpstreamUnavailable);
    });

    it.each([[0], [-1], [1.5], [Number.NaN], [2 ** 53]])('sends no request for the id %d', async (id) => {
      const { client, calls } = aClient();

      await expect(client.readZone(id)).rejects.toThrow(TypeError);
      expect(calls).toEqual([]);
    });
  });

  describe('readRrset', () => {
    it('finds an rrset and keeps its text', async () => {
      const { client } = aClient();
      upstream().get('/v1/zones/7001/rrsets/app/A').reply(200, `{"rrset": ${rrsetText}, "more": 1}`);

      expect(await client.readRrset(7001, 'app', 'A')).toEqual({ kind: 'found', body: rrsetText });
    });

    it('rejects the answer about another rrset as unusable, and retries', async () => {
      const { client, calls } = aClient({ waitMsMax: 2_000 });
      upstream()
        .get('/v1/zones/7001/rrsets/app/A')
        .reply(200, `{"rrset": ${rrsetText.replace('"app"', '"web"')}}`);
      upstream().get('/v1/zones/7001/rrsets/app/A').reply(200, `{"rrset": ${rrsetText}}`);

      expect(await client.readRrset(7001, 'app', 'A')).toEqual({ kind: 'found', body: rrsetText });
      expect(calls.map((call) => call.outcome)).toEqual(['passing', 'parsed']);
    });
  });

  describe('listRrsets', () => {
    const page = (pagination: string, rrsets = `[ ${rrsetText} , {"name":"@","type":"NS"} ]`) =>
      `{"rrsets": ${rrsets}, "meta": {"pagination": ${pagination}}}`;
    const path = '/v1/zones/7001/rrsets?page=2&per_page=100';

    it('returns the rrsets of a page with their texts, and the next page', async () => {
      const { client } = aClient();
      upstream().get(path).reply(200, page('{"page": 2, "next_page": 3, "total_entries": 202}'));

      expect(await client.listRrsets(7001, 2)).toEqual({
        rrsets: [
          { name: 'app', type: 'A', body: rrsetText },
          { name: '@', type: 'NS', body: '{"name":"@","type":"NS"}' },
        ],
        nextPage: 3,
        totalEntries: 202,
      });
    });

    it.each([
      ['null', '{"next_page": null, "total_entries": null}'],
      ['0', '{"next_page": 0}'],
    ])('ends at the next page %s', async (_what, pagination) => {
      const { client } = aClient();
      upstream().get(path).reply(200, page(pagination, '[]'));

      expect(await client.listRrsets(7001, 2)).toEqual({ rrsets: [], nextPage: null, totalEntries: null });
    });

    it.each([
      ['has no meta, and could be the first of many', `{"rrsets": [${rrsetText}]}`],
      ['has no next_page', page('{"page": 2}')],
      ['leads back to itself', page('{"next_page": 2}')],
      ['holds a set without type', page('{"next_page": null}', '[{"name": "app"}]')],
      ['holds a set that is null', page('{"next_page": null}', '[null]')],
      ['holds no list', page('{"next_page": null}', '{}')],
    ])('rejects a page as unusable that %s', async (_what, body) => {
      const { client } = aClient(withoutRepetition);
      upstream().get(path).reply(200, body);

      await expect(client.listRrsets(7001, 2)).rejects.toThrow(UpstreamUnavailable);
    });

    it('does not treat an absent zone as an empty one', async () => {
      const { client } = aClient();
      upstream().get(path).reply(404, anError('not_found'));

      await expect(client.listRrsets(7001, 2)).rejects.toMatchObject({
        reason: expect.stringContaining('404 not_found'),
      });
    });
  });

  describe('readActions', () => {
    const actionText = (id: number, status = 'success') => `{"id": ${id}, "status": "${status}", "new" : 1.0}`;

    it('requests 50 ids at a time, each once, and drops actions that it did not request', async () => {
      const { client, calls } = aClient();
      const ids = Array.from({ length: 60 }, (_, index) => index + 1);
      const answer = ({ url }: Request) => {
        const asked = new URL(url).searchParams.getAll('id').map(Number);
        return `{"actions": [${[...asked, 999].map((id) => actionText(id)).join(', ')}]}`;
      };
      upstream().get('/v1/actions').query(true).twice().reply(200, answer);

      const actions = await client.readActions([...ids, 1, 2]);

      expect(actions).toEqual(ids.map((id) => ({ id, status: 'success', body: actionText(id) })));
      expect(calls).toHaveLength(2);
    });

    it('rejects an unknown status as unusable', async () => {
      const { client } = aClient(withoutRepetition);
      upstream()
        .get('/v1/actions?id=5&per_page=50')
        .reply(200, `{"actions": [${actionText(5, 'paused')}]}`);

      await expect(client.readActions([5])).rejects.toThrow(UpstreamUnavailable);
    });
  });

  describe('a read', () => {
    const path = '/v1/zones/7001/rrsets/app/A';
    const found = `{"rrset": ${rrsetText}}`;

    it('answered 503 is repeated', async () => {
      const { client } = aClient({ waitMsMax: 2_000 });
      upstream().get(path).reply(503, anError('unavailable'));
      upstream().get(path).reply(200, found);

      expect((await client.readRrset(7001, 'app', 'A')).kind).toBe('found');
    });

    it('answered with an unknown refusal fails immediately with the reason', async () => {
      const { client, calls } = aClient();
      upstream().get(path).reply(404, anError('a_code_of_tomorrow'));

      await expect(client.readRrset(7001, 'app', 'A')).rejects.toMatchObject({
        name: 'UpstreamUnavailable',
        reason: '404 a_code_of_tomorrow',
      });
      expect(calls).toHaveLength(1);
    });

    it('answered 401 fails immediately and is logged as our error', async () => {
      const { client, calls, logged } = aClient();
      upstream().get(path).reply(401, anError('unauthorized'));

      const reading = client.readRrset(7001, 'app', 'A');

      await expect(reading).rejects.toThrow(UpstreamUnavailable);
      await expect(reading).rejects.toMatchObject({
        reason: 'it refuses our token (401 unauthorized). Replace the token of the upstream project.',
      });
      expect(calls).toHaveLength(1);
      expect(logged).toEqual([expect.stringContaining('upstream refuses our token')]);
    });

    it('without an account of the budget fails with that reason, and writes say so too: no call is made', async () => {
      const budgetStore = { update: () => Promise.reject(new Error('away')) };
      const { client, calls, logged } = aClient({ waitMsMax: 100, budgetStore });

      await expect(client.readRrset(7001, 'app', 'A')).rejects.toMatchObject({
        reason: 'the account of its budget is out of reach',
      });
      expect(await client.write(aWrite())).toEqual({ kind: 'no_account' });
      expect(calls).toEqual([]);
      expect(logged).toEqual([expect.stringContaining('upstream budget out of reach: nothing is sent upstream')]);
    });

    it('that gets 429 is repeated after the time that the upstream states', async () => {
      const { client } = aClient({ waitMsMax: 60_000 });
      upstream().get(path).reply(429, anError('rate_limit_exceeded'), { 'Retry-After': '1' });
      upstream().get(path).reply(200, found);

      expect((await client.readRrset(7001, 'app', 'A')).kind).toBe('found');
    });
  });
});

describe('the token', () => {
  let upstream: RawServer | undefined;

  afterEach(async () => {
    await upstream?.close();
    upstream = undefined;
  });

  const everything = (value: unknown) => inspect(value, { depth: 20, showHidden: true, maxStringLength: null });

  it.each([
    ['is refused', rawAnswer('401 Unauthorized', anError('unauthorized', `bad token ${aToken}`))],
    ['stands in an error code', rawAnswer('500 Oops', anError(aToken))],
    ['stands in a message for tenants', rawAnswer('422 No', anError('invalid_input', `odd header: Bearer ${aToken}`))],
    ['stands where a body should be', rawAnswer('200 OK', aToken)],
    ['stands in a broken answer', aToken],
  ])('appears in no error, no outcome and no log when it %s', async (_what, answer) => {
    upstream = await startRawServer((socket) => socket.end(answer));
    const { client, logged, calls } = aClient({ baseUrl: `${upstream.url}/v1` });

    const error: unknown = await client.readZone(7001).catch((reason: unknown) => reason);
    const outcome = await client.write(aWrite());

    expect(upstream.requests.join('')).toContain(aToken);
    expect(everything([error, (error as Error).stack, outcome, logged, calls])).not.toContain(aToken);
  });

  it('does not appear when the client itself is printed', () => {
    const { client } = aClient();

    expect(everything(client)).not.toContain(aToken);
  });
});
