import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { verifyToken } from '../src/index.js';
import { aBaseUrl, anError, aToken } from './a-client.js';
import { closedBaseUrl, type RawUpstream, rawAnswer, startRawUpstream } from './raw-upstream.js';

let upstream: RawUpstream | undefined;
beforeEach(() => {
  nock.disableNetConnect();
  nock.enableNetConnect('127.0.0.1');
});
afterEach(async () => {
  nock.cleanAll();
  nock.enableNetConnect();
  await upstream?.close();
  upstream = undefined;
});

type Reply = readonly [status: number, body: string];
const locations: Reply = [200, '{"locations": [{"id": 1, "name": "fsn1"}], "meta": {}}'];
const unauthorized: Reply = [401, anError('unauthorized')];

/** The provider answers one call after the other with these, and nothing beyond them. */
function theProvider(...replies: readonly Reply[]): nock.Scope {
  const scope = nock(aBaseUrl, { reqheaders: { authorization: `Bearer ${aToken}` } });
  for (const [status, body] of replies) scope.get('/locations').reply(status, body);
  return scope;
}
const verify = (timeoutMs = 3_000) => verifyToken({ baseUrl: aBaseUrl, token: aToken, timeoutMs });

describe('a token', () => {
  it('is valid when the provider lists its locations, which costs one call', async () => {
    const scope = theProvider(locations);

    expect(await verify()).toBe('valid');
    expect(scope.isDone()).toBe(true);
  });

  it('is rejected when the provider says so twice', async () => {
    const scope = theProvider(unauthorized, unauthorized);

    expect(await verify()).toBe('rejected');
    expect(scope.isDone()).toBe(true);
  });

  it.each<[string, Reply]>([
    ['lists its locations', locations],
    ['has a fault', [500, anError('service_error')]],
  ])('is not rejected when the provider then %s', async (_what, second) => {
    theProvider(unauthorized, second);

    expect(await verify()).toBe(second === locations ? 'valid' : 'unknown');
  });

  it.each<[string, Reply]>([
    ['a refusal for too many requests', [429, anError('rate_limit_exceeded')]],
    ['a refusal of another kind', [403, anError('forbidden')]],
    ['a fault', [500, anError('service_error')]],
    ['maintenance', [503, '']],
    ['a page of something on the way', [200, '<html>Please sign in</html>']],
    ['JSON without locations', [200, '{"servers": []}']],
    ['no body', [200, '']],
    ['a redirect', [302, '']],
  ])('is not known to be good or bad after %s, and nothing is asked again', async (_what, reply) => {
    const scope = theProvider(reply, locations);

    expect(await verify()).toBe('unknown');
    expect(scope.pendingMocks()).toHaveLength(1);
  });

  it.each([
    ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"locations": ['],
    ['garbage', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a closed connection', ''],
    ['an answer that repeats it', rawAnswer('200 OK', `{"locations": ["${aToken}"]}`)],
  ])('is not known to be good or bad after %s', async (_what, bytes) => {
    upstream = await startRawUpstream((socket) => socket.end(bytes));

    expect(await verifyToken({ baseUrl: upstream.baseUrl, token: aToken })).toBe('unknown');
    expect(upstream.requests).toHaveLength(1);
  });

  it('is not known to be good or bad without a connection', async () => {
    expect(await verifyToken({ baseUrl: await closedBaseUrl(), token: aToken })).toBe('unknown');
  });

  it('keeps nobody waiting for longer than the time given, the second call included', async () => {
    let calls = 0;
    upstream = await startRawUpstream((socket) => {
      calls += 1;
      if (calls === 1) socket.end(rawAnswer('401 Unauthorized', unauthorized[1]));
    });
    const startedAt = performance.now();

    const verdict = await verifyToken({ baseUrl: upstream.baseUrl, token: aToken, timeoutMs: 200 });

    expect([verdict, calls]).toEqual(['unknown', 2]);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
