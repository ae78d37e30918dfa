import { closedUrl, type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { verifyToken } from '../src/index.js';
import { aBaseUrl, anError, aToken } from './a-client.js';
import { interceptRequests } from './intercept-requests.js';

let upstream: RawServer | undefined;
interceptRequests({ reachable: '127.0.0.1' });
afterEach(async () => {
  await upstream?.close();
  upstream = undefined;
});

type Reply = readonly [status: number, body: string];
const listed: Reply = [200, '{"placement_groups": [], "meta": {}}'];
const made: Reply = [201, '{"placement_group": {"id": 71}, "action": null}'];
const deleted: Reply = [204, ''];
const unauthorized: Reply = [401, anError('unauthorized')];
const readOnly: Reply = [401, anError('token_readonly')];

const LEFT_OVERS = '/placement_groups?label_selector=corral.dev%2Fprobe';
type Call = readonly [method: 'GET' | 'POST' | 'DELETE', path: string, reply: Reply];
const list = (reply: Reply = listed): Call => ['GET', LEFT_OVERS, reply];
const make = (reply: Reply = made): Call => ['POST', '/placement_groups', reply];
const remove = (id: number, reply: Reply = deleted): Call => ['DELETE', `/placement_groups/${id}`, reply];

/** The provider answers these calls, in this order where they are alike, and nothing beyond them. */
function theProvider(...calls: readonly Call[]): nock.Scope {
  const scope = nock(aBaseUrl, { reqheaders: { authorization: `Bearer ${aToken}` } });
  for (const [method, path, [status, body]] of calls) scope.intercept(path, method).reply(status, body);
  return scope;
}
const verify = (timeoutMs = 3_000) => verifyToken({ baseUrl: aBaseUrl, token: aToken, timeoutMs });

describe('a token', () => {
  it('is valid when it can list, create and delete, and leaves nothing behind', async () => {
    const bodies: unknown[] = [];
    const scope = theProvider(list(), remove(71));
    scope.post('/placement_groups', (body) => bodies.push(body) > 0).reply(...made);

    expect(await verify()).toBe('valid');
    expect(scope.isDone()).toBe(true);
    expect(bodies).toEqual([
      {
        name: expect.stringMatching(/^corral-probe-[0-9a-f]{12}$/),
        type: 'spread',
        labels: { 'corral.dev/probe': 'token' },
      },
    ]);
  });

  it('is rejected when the provider refuses it twice, and nothing is written', async () => {
    const scope = theProvider(list(unauthorized), list(unauthorized));

    expect(await verify()).toBe('rejected');
    expect(scope.isDone()).toBe(true);
  });

  it('is read-only when the provider refuses two writes as read-only', async () => {
    const scope = theProvider(list(), make(readOnly), make(readOnly));

    expect(await verify()).toBe('read-only');
    expect(scope.isDone()).toBe(true);
  });

  it('is read-only too when a write is forbidden', async () => {
    theProvider(list(), make([403, anError('forbidden')]), make([403, anError('forbidden')]));

    expect(await verify()).toBe('read-only');
  });

  it.each<[string, readonly Call[], string]>([
    ['rejected when the provider then lists', [list(unauthorized), list(), make(), remove(71)], 'valid'],
    [
      'rejected when the provider then has a fault',
      [list(unauthorized), list([500, anError('service_error')])],
      'unknown',
    ],
    ['read-only when the provider then makes it', [list(), make(readOnly), make(), remove(71)], 'valid'],
    ['read-only when the provider then has a fault', [list(), make(readOnly), make([503, ''])], 'unknown'],
  ])('is not %s', async (_what, calls, verdict) => {
    const scope = theProvider(...calls);

    expect(await verify()).toBe(verdict);
    expect(scope.isDone()).toBe(true);
  });

  const strange: readonly [string, Reply][] = [
    ['a refusal for too many requests', [429, anError('rate_limit_exceeded')]],
    ['a fault', [500, anError('service_error')]],
    ['maintenance', [503, '']],
    ['a page of something on the way', [200, '<html>Please sign in</html>']],
    ['JSON of another shape', [200, '{"servers": []}']],
    ['no body', [200, '']],
    ['a redirect', [302, '']],
  ];
  it.each<[string, Reply]>([...strange, ['a refusal of another kind', [403, anError('forbidden')]]])(
    'stays unknown when a list is answered with %s, and no further request is sent',
    async (_what, reply) => {
      const scope = theProvider(list(reply), list(), make());

      expect(await verify()).toBe('unknown');
      expect(scope.pendingMocks()).toHaveLength(2);
    },
  );

  it.each<[string, Reply]>([
    ...strange,
    ['a wait', [403, anError('maintenance')]],
    ['a lock', [423, anError('locked')]],
  ])('stays unknown when a write is answered with %s, and no further request is sent', async (_what, reply) => {
    const scope = theProvider(list(), make(reply), make());

    expect(await verify()).toBe('unknown');
    expect(scope.pendingMocks()).toHaveLength(1);
  });

  it.each(['resource_limit_exceeded', 'uniqueness_error', 'invalid_input'])(
    'can write when the write was refused with %s, which is checked after authorization',
    async (code) => {
      theProvider(list(), make([code === 'resource_limit_exceeded' ? 403 : 422, anError(code)]));

      expect(await verify()).toBe('valid');
    },
  );

  it.each([
    ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"placement_groups": ['],
    ['garbage', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a closed connection', ''],
    ['an answer that repeats it', rawAnswer('200 OK', `{"placement_groups": ["${aToken}"]}`)],
  ])('stays unknown after %s', async (_what, bytes) => {
    upstream = await startRawServer((socket) => socket.end(bytes));

    expect(await verifyToken({ baseUrl: `${upstream.url}/v1`, token: aToken })).toBe('unknown');
    expect(upstream.requests).toHaveLength(1);
  });

  it('stays unknown without a connection', async () => {
    expect(await verifyToken({ baseUrl: await closedUrl(), token: aToken })).toBe('unknown');
  });

  it('is verified within the given time, including the second call', async () => {
    let calls = 0;
    upstream = await startRawServer((socket) => {
      calls += 1;
      if (calls === 1) socket.end(rawAnswer('401 Unauthorized', unauthorized[1]));
    });

    // The second call is never answered, so a verdict proves the bound.
    const verdict = await verifyToken({ baseUrl: `${upstream.url}/v1`, token: aToken, timeoutMs: 200 });

    expect(verdict).toBe('unknown');
    expect(calls).toBeLessThanOrEqual(2);
  });
});

describe('a probe that a crash left behind', () => {
  const leftOver: Reply = [200, '{"placement_groups": [{"id": 5}, {"id": 6}, {"name": "odd"}]}'];

  it('is deleted by the next verification', async () => {
    const scope = theProvider(list(leftOver), make(), remove(71), remove(5), remove(6));

    expect(await verify()).toBe('valid');
    expect(scope.isDone()).toBe(true);
  });

  it('is deleted even when there is no room for another one', async () => {
    const noRoom: Reply = [403, anError('resource_limit_exceeded')];
    const scope = theProvider(list(leftOver), make(noRoom), remove(5), remove(6));

    expect(await verify()).toBe('valid');
    expect(scope.isDone()).toBe(true);
  });

  it('does not affect the verdict when it cannot be deleted: the next verification finds it', async () => {
    theProvider(list(leftOver), make(), remove(71, [500, '']), remove(5, [404, anError('not_found')]), remove(6));

    expect(await verify()).toBe('valid');
  });

  it('is not deleted with a read-only token', async () => {
    const scope = theProvider(list(leftOver), make(readOnly), make(readOnly), remove(5));

    expect(await verify()).toBe('read-only');
    expect(scope.pendingMocks()).toHaveLength(1);
  });
});
