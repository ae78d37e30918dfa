import { openScope } from '@corral/admission';
import { describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { aBaseUrl, aClient, anError, aToken, aWrite, scopeOn } from './a-client.js';
import { interceptRequests } from './intercept-requests.js';

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
    [
      422,
      anError('invalid_input'),
      { kind: 'refused', status: 422, code: 'invalid_input', body: anError('invalid_input') },
    ],
    [409, anError('conflict'), { kind: 'refused', status: 409, code: 'conflict', body: anError('conflict') }],
    [
      500,
      anError('server_error'),
      { kind: 'failed', status: 500, code: 'server_error', body: anError('server_error') },
    ],
    [503, anError('unavailable'), { kind: 'failed', status: 503, code: 'unavailable', body: anError('unavailable') }],
    [502, '<html>', { kind: 'uncertain', reason: '502 without an error body' }],
    [201, '<html>', { kind: 'uncertain', reason: '201 without a JSON object' }],
    [401, anError('unauthorized'), { kind: 'credentials_refused', status: 401, code: 'unauthorized' }],
  ])('answered %i %j is sent once', async (status, body, expected) => {
    const { client, calls } = aClient();
    upstream().post(path).reply(status, body);

    const outcome = await client.write(aWrite());

    expect(outcome).toEqual(expected);
    expect(calls).toHaveLength(1);
  });

  it('does not follow redirects, so the token is not sent elsewhere', async () => {
    const { client } = aClient();
    const elsewhere = nock('http://elsewhere.test').post('/').reply(201, '{}').get('/').reply(200, '{}');
    upstream().post(path).reply(307, '', { Location: 'http://elsewhere.test/' });

    const outcome = await client.write(aWrite());

    expect(outcome).toEqual({ kind: 'uncertain', reason: '307 without an error body' });
    expect(elsewhere.isDone()).toBe(false);
  });

  it('refuses an answer above the maximum size instead of keeping it in memory', async () => {
    const { client } = aClient();
    upstream()
      .post(path)
      .reply(201, `{"a":"${'x'.repeat(8 * 1024 * 1024)}"}`);

    const outcome = await client.write(aWrite());

    expect(outcome.kind).toBe('uncertain');
  });

  it('keeps a byte order mark, which makes the answer unusable', async () => {
    const { client } = aClient();
    upstream().post(path).reply(201, Buffer.from('\uFEFF{}'));

    const outcome = await client.write(aWrite());

    expect(outcome.kind).toBe('uncertain');
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

  it('is not sent while the known budget is exhausted for longer', async () => {
    const { client, calls } = aClient();
    const headers = { 'RateLimit-Limit': '360', 'RateLimit-Remaining': '0', 'RateLimit-Reset': inSeconds(600) };
    upstream().post(path).reply(201, '{}', headers);
    const begunAt = performance.now();
    await client.write(aWrite());

    const outcome = await client.write(aWrite());

    // One in ten seconds flows in, and writes have seven tenths of it while the reserves are empty.
    const passed = (performance.now() - begunAt) / 1_000;
    const seconds = outcome.kind === 'throttled' ? outcome.retryAfterSeconds : 0;
    expect(seconds).toBeLessThanOrEqual(15);
    expect(seconds).toBeGreaterThanOrEqual(100 / 7 - passed);
    expect(calls).toHaveLength(1);
    expect(client.budget()).toMatchObject({ limit: 360, remaining: 0 });
  });

  it('waits in the process for an imminent refill instead of sending a request', async () => {
    const { client, calls } = aClient();
    const headers = { 'RateLimit-Limit': '36000', 'RateLimit-Remaining': '100', 'RateLimit-Reset': inSeconds(600) };
    upstream().post(path).twice().reply(201, '{}', headers);
    const startedAt = performance.now();
    await client.write(aWrite());

    const outcome = await client.write(aWrite());

    expect(outcome.kind).toBe('accepted');
    expect(calls.map((call) => call.outcome)).toEqual(['accepted', 'accepted']);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(90);
  });
});

describe('a caller who aborts', () => {
  it('before the start causes no call', async () => {
    const { client, calls } = aClient();

    const outcome = await client.write(aWrite(), { scope: scopeOn(AbortSignal.abort()) });

    expect(outcome.kind).toBe('unreached');
    expect(calls).toEqual([]);
  });

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

  it.each([[''], ['two words'], ['line\nbreak'], ['ünicode']])('refuses the token %j without repeating it', (token) => {
    expect(() => aClient({ token })).toThrow(/The token .* Set it again/);
  });

  it('accepts a base address with trailing slashes', async () => {
    const { client } = aClient({ baseUrl: `${aBaseUrl}//` });
    upstream().post(path).reply(201, '{}');

    const outcome = await client.write(aWrite());

    expect(outcome.kind).toBe('accepted');
  });
});

describe('a write that must wait for its turn', () => {
  const scopeOf = (signal: AbortSignal, takePlace: () => (() => void) | null) =>
    openScope({ signal, waits: { places: { take: takePlace }, key: 'a token' } });

  it('is throttled when the waiting places are taken', async () => {
    const { client, calls } = aClient({ waitMsMax: 10_000 });
    upstream().post(path).reply(429, '', { 'Retry-After': '5' });
    // For its first turn it waits until the budget is known.
    const scope = scopeOf(new AbortController().signal, () => (calls.length === 0 ? () => undefined : null));

    expect(await client.write(aWrite(), { scope })).toMatchObject({ kind: 'throttled', usedUp: 'places' });
    expect(calls).toHaveLength(1);
  });

  it('releases its place at the end of its wait', async () => {
    const { client, calls } = aClient({ waitMsMax: 10_000 });
    upstream().post(path).reply(429, '', { 'Retry-After': '5' });
    const giveUp = new AbortController();
    let places = 1;
    const scope = scopeOf(giveUp.signal, () => {
      places -= 1;
      return () => {
        places += 1;
      };
    });
    const writing = client.write(aWrite(), { scope });
    while (calls.length === 0 || places !== 0) await new Promise(setImmediate);

    giveUp.abort();

    await writing;
    expect(places).toBe(1);
  });

  it('waits no longer than its request', async () => {
    const { client } = aClient({ waitMsMax: 600_000 });
    upstream().post(path).reply(429, '', { 'Retry-After': '300' });
    const scope = { signal: new AbortController().signal, deadline: performance.now() + 200 };

    expect((await client.write(aWrite(), { scope })).kind).toBe('throttled');
  });
});
