import { closedUrl } from '@corral/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type ClientOptions, CorralError, createClient, createDnsClient, exchangedToken } from '../src/index.js';
import {
  answer,
  hangUp,
  headerOf,
  linesOfRequests,
  problem,
  stall,
  stallInBody,
  startRudeServer,
  truncate,
} from './support/rude-server.js';

const TOKEN = 'corral_sa_0123456789abcdef0123456789abcdef';
const server = await startRudeServer();
const nobody = await closedUrl();
const other = await startRudeServer();
let pauses: number[] = [];

/** Records pauses instead of waiting. */
function client(options: Partial<ClientOptions> = {}) {
  return createClient({
    baseUrl: server.url,
    credentials: { bearer: TOKEN },
    pause: async (ms) => void pauses.push(ms),
    ...options,
  });
}

async function errorOf(work: Promise<unknown>): Promise<CorralError> {
  const error = await work.then(
    () => new Error('It was accepted.'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CorralError)) throw error;
  return error;
}

const me = { id: 1, email: 'ada@acme.example' };
const team = 'acme';
const name = 'web';

beforeEach(() => {
  pauses = [];
});

describe('a call', () => {
  it('fills in the path, the query and the headers, and answers body, tag and operation', async () => {
    const location = `http://elsewhere.example/api/v1/teams/acme/operations/0197b2f0-0000-7000-8000-000000000001/`;
    const headers = ['ETag: "x.1.1"', `Operation-Location: ${location}`, 'X-Correlation-Id: r-1'];
    server.script(answer('202 Accepted', { a: 1 }, [...headers, 'Date: Sat, 21 Nov 2026 12:00:00 GMT']));
    const accepted = await client({ userAgent: 'tests/1' }).deleteCluster(
      { team: 'a/b', name },
      { query: { dryRun: false }, ifMatch: '"x.1.0"' },
    );

    expect(accepted).toEqual({
      status: 202,
      body: { a: 1 },
      etag: '"x.1.1"',
      operation: { team: 'acme', id: '0197b2f0-0000-7000-8000-000000000001' },
      servedAt: new Date('2026-11-21T12:00:00Z'),
      requestId: 'r-1',
    });
    expect(linesOfRequests(server)).toEqual(['DELETE /api/v1/teams/a%2Fb/clusters/web/?dryRun=false']);
    const [request] = server.requests;
    expect(headerOf(request, 'Authorization')).toBe(`Bearer ${TOKEN}`);
    expect(headerOf(request, 'If-Match')).toBe('"x.1.0"');
    expect(headerOf(request, 'User-Agent')).toBe('tests/1');
  });

  it('sends the session of a program as a cookie', async () => {
    server.script(answer('200 OK', me));
    await client({ credentials: { session: 's3ss10n' } }).getMe();

    expect(headerOf(server.requests[0], 'Cookie')).toBe('sessionid=s3ss10n');
    expect(headerOf(server.requests[0], 'Authorization')).toBeNull();
  });

  it.each(['', '.', '..'])('never leaves its path with the parameter %j', async (given) => {
    server.script(answer('200 OK', {}));

    expect(await errorOf(client().getCluster({ team, name: given }))).toMatchObject({
      code: 'invalid_request',
      status: 0,
    });
    expect(server.requests).toEqual([]);
  });

  it.each([
    'not a url',
    'ftp://clusters.example',
    'https://user:secret@clusters.example',
    'https://clusters.example/?a=1',
  ])('is not possible at %s', (baseUrl) => {
    expect(() => client({ baseUrl })).toThrow(TypeError);
    expect(() => client({ baseUrl })).not.toThrow(/secret/);
  });
});

describe('a refusal', () => {
  it('is one error with everything that the API says', async () => {
    const errors = [{ pointer: '/spec/region', message: 'is required', detail: 'The region is required.' }];
    const body = { status: 422, code: 'validation_failed', detail: 'One field is invalid.', errors, operation: 'x' };
    server.script(answer('422 Unprocessable Content', body, ['X-Correlation-Id: r-2']));
    const error = await errorOf(client().deleteCluster({ team, name }));

    expect(error).toMatchObject({
      name: 'CorralError',
      message: 'One field is invalid.',
      status: 422,
      code: 'validation_failed',
      errors,
      operationId: 'deleteCluster',
      requestId: 'r-2',
      retryAfterMs: null,
      body,
      isUnknownOutcome: false,
    });
    expect(pauses).toEqual([]);
  });

  it('of the DNS API is the same error', async () => {
    const fields = [{ name: 'records[0].value', messages: ['is not an address', 'is too long'] }];
    server.script(
      answer('422 Unprocessable Content', { error: { code: 'invalid_input', message: 'No.', details: { fields } } }),
    );
    const dns = createDnsClient({ baseUrl: `${server.url}/v1/`, credentials: { bearer: TOKEN } });
    const error = await errorOf(dns.getRrset({ zone: 'example.test', name: '@', type: 'A' }));

    expect(error).toMatchObject({
      code: 'invalid_input',
      detail: 'No.',
      errors: [{ pointer: '/records/0/value', message: 'is not an address is too long' }],
    });
    expect(linesOfRequests(server)).toEqual(['GET /v1/zones/example.test/rrsets/%40/A']);
  });

  it.each([
    ['a problem of another shape', answer('400 Bad Request', { code: 7, errors: 'x' }), 400],
    ['a large page', answer('403 Forbidden', `"${'x'.repeat(1_200_000)}"`), 403],
    ['a redirect', answer('302 Found', '', ['Location: http://elsewhere.example/']), 302],
  ])('that is %s has the code unreadable', async (_what, behaviour, status) => {
    server.script(behaviour);

    expect(await errorOf(client().getMe())).toMatchObject({
      status,
      code: 'unreadable',
      errors: [],
      operationId: 'getMe',
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe('an answer', () => {
  it('that is not JSON is an error, and a change is not sent again', async () => {
    server.script(answer('200 OK', '<html>Welcome</html>'));

    expect(await errorOf(client().deleteCluster({ team, name }))).toMatchObject({
      status: 200,
      code: 'unreadable',
      isUnknownOutcome: true,
    });
    expect(server.requests).toHaveLength(1);
  });

  it('is read up to a limit, and the connection is closed', async () => {
    server.script(answer('200 OK', { text: 'x'.repeat(200_000) }));

    expect(await errorOf(client({ answerBytes: 100_000 }).getMe())).toMatchObject({
      code: 'answer_too_large',
      detail: expect.stringContaining('100000'),
      operationId: 'getMe',
    });
  });
});

describe('a request that may be sent again', () => {
  it.each([
    ['is cut off', hangUp],
    ['gets a truncated answer', truncate],
    ['meets a service that is unavailable', problem('503 Service Unavailable', 'service_unavailable')],
  ])('is sent again when it %s', async (_what, behaviour) => {
    server.script(behaviour, answer('200 OK', me));
    const { body } = await client().getMe();

    expect(body).toEqual(me);
    expect(server.requests).toHaveLength(2);
    expect(pauses).toEqual([expect.any(Number)]);
    expect(pauses[0]).toBeGreaterThanOrEqual(200);
    expect(pauses[0]).toBeLessThanOrEqual(400);
  });

  it('is sent again when it stalls, also in the answer', async () => {
    server.script(stall, stallInBody, answer('200 OK', me));
    const { body } = await client({ requestTimeoutMs: 500 }).getMe();

    expect(body).toEqual(me);
    expect(server.requests.length).toBeGreaterThan(2);
  });

  it('is sent at most four times, with growing pauses', async () => {
    server.script(hangUp);

    expect(await errorOf(client().getMe())).toMatchObject({ status: 0, code: 'network', isUnknownOutcome: true });
    expect(server.requests).toHaveLength(4);
    expect(pauses).toHaveLength(3);
    expect(pauses[2]).toBeGreaterThanOrEqual(800);
  });

  it('waits as long as the server says, in seconds or until a date', async () => {
    const at = new Date(Date.now() + 20_000).toUTCString();
    server.script(
      problem('429 Too Many Requests', 'rate_limit_exceeded', ['Retry-After: 7']),
      problem('503 Service Unavailable', 'service_unavailable', [`Retry-After: ${at}`]),
      answer('200 OK', me),
    );
    await client().getMe();

    expect(pauses).toHaveLength(2);
    expect(pauses[0]).toBeGreaterThanOrEqual(7_000);
    expect(pauses[0]).toBeLessThan(7_500);
    expect(pauses[1]).toBeGreaterThan(15_000);
    expect(pauses[1]).toBeLessThan(21_000);
  });

  it('is given up at once when the server names a time after the deadline', async () => {
    server.script(problem('429 Too Many Requests', 'rate_limit_exceeded', ['Retry-After: 120']));
    const error = await errorOf(client().getMe());

    expect(error).toMatchObject({ status: 429, retryAfterMs: 120_000 });
    expect(pauses).toEqual([]);
  });

  it.each(['soon', '99999999999'])('has a pause of its own when Retry-After is %s', async (text) => {
    server.script(
      problem('429 Too Many Requests', 'rate_limit_exceeded', [`Retry-After: ${text}`]),
      answer('200 OK', me),
    );
    await client().getMe();

    expect(pauses[0]).toBeLessThanOrEqual(400);
  });

  it('ends with its deadline', async () => {
    server.script(stall);

    expect(await errorOf(client().getMe({}, { timeoutMs: 1_500 }))).toMatchObject({
      code: 'timeout',
      operationId: 'getMe',
    });
    expect(server.requests).toHaveLength(1);
  });

  it('ends when its caller or the owner of the client gives up, with their reason', async () => {
    for (const owner of ['call', 'client']) {
      const reason = new Error(`The ${owner} is over.`);
      const stopping = new AbortController();
      server.script(() => stopping.abort(reason));
      const calling =
        owner === 'call'
          ? client().getMe({}, { signal: stopping.signal })
          : client({ signal: stopping.signal }).getMe();

      await expect(calling).rejects.toBe(reason);
      expect(server.requests).toHaveLength(1);
    }
  });
});

describe('a POST', () => {
  it('with a key is sent again with the same key', async () => {
    server.script(hangUp, answer('202 Accepted', {}), answer('202 Accepted', {}), answer('202 Accepted', {}));
    const corral = client();
    await corral.hibernateCluster({ team, name });
    await corral.hibernateCluster({ team, name });
    await corral.hibernateCluster({ team, name }, { idempotencyKey: 'nightly' });

    const keys = server.requests.map((request) => headerOf(request, 'Idempotency-Key'));
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
    expect(keys[3]).toBe('nightly');
  });

  it.each([
    ['is cut off', hangUp],
    [
      'meets a service that is unavailable',
      problem('503 Service Unavailable', 'service_unavailable', ['Retry-After: 1']),
    ],
  ])('without a key is not sent again when it %s', async (_what, behaviour) => {
    server.script(behaviour);

    await errorOf(client().issueKubeconfig({ team, name }));
    expect(server.requests).toHaveLength(1);
  });

  it('without a key is sent again after 429, because it was not carried out', async () => {
    server.script(problem('429 Too Many Requests', 'rate_limit_exceeded', ['Retry-After: 1']), answer('200 OK', {}));
    await client().issueKubeconfig({ team, name });

    expect(server.requests).toHaveLength(2);
  });
});

describe('a token', () => {
  it('is renewed once when it is refused', async () => {
    const asked: (string | null)[] = [];
    const bearer = async (rejected: string | null) => {
      asked.push(rejected);
      return rejected === null ? 'old' : 'new';
    };
    server.script(problem('401 Unauthorized', 'authentication_required'), answer('200 OK', me));
    await client({ credentials: { bearer } }).getMe();

    expect(asked).toEqual([null, 'old']);
    expect(server.requests.map((request) => headerOf(request, 'Authorization'))).toEqual(['Bearer old', 'Bearer new']);

    server.script(problem('401 Unauthorized', 'authentication_required'));
    expect(await errorOf(client({ credentials: { bearer } }).getMe())).toMatchObject({ status: 401 });
    expect(server.requests).toHaveLength(2);
  });

  it('that cannot be had fails the call with the reason', async () => {
    const reason = new Error('No token today.');

    await expect(client({ credentials: { bearer: () => Promise.reject(reason) } }).getMe()).rejects.toBe(reason);
  });

  it.each([
    ['has a line break', { credentials: { bearer: `${TOKEN}\n` } }],
    ['is a session with a semicolon', { credentials: { session: `${TOKEN}; admin=1` } }],
    ['meets nobody', { baseUrl: nobody }],
    ['meets a fetch that quotes it', { fetch: () => Promise.reject(new TypeError(`Bearer ${TOKEN} is not valid`)) }],
    ['meets a stall', { requestTimeoutMs: 100, retries: 0 }],
  ])('is in no error when it %s', async (_what, options: Partial<ClientOptions>) => {
    server.script(stall);
    const error = await errorOf(client(options).getMe());

    expect([error.message, error.stack, JSON.stringify(error), String(error.cause)].join()).not.toContain(TOKEN);
  });

  it('is got by exchange for the token of an issuer, once for all requests, and again when it is refused', async () => {
    const bearer = exchangedToken({
      baseUrl: server.url,
      account: 'acme/ci',
      subjectToken: async () => 'of+the&issuer',
    });
    const corral = client({ credentials: { bearer } });
    const issued = (access_token: string) => answer('200 OK', { access_token, token_type: 'Bearer', expires_in: 900 });
    server.script(
      issued('first'),
      ...[answer('200 OK', me), answer('200 OK', me), problem('401 Unauthorized', 'authentication_required')],
      ...[issued('second'), answer('200 OK', me)],
    );
    await Promise.all([corral.getMe(), corral.getMe()]);
    await corral.getMe();

    const [exchange, ...rest] = server.requests;
    expect(headerOf(exchange, 'Content-Type')).toBe('application/x-www-form-urlencoded');
    expect(headerOf(exchange, 'Authorization')).toBeNull();
    expect(Object.fromEntries(new URLSearchParams(exchange?.split('\r\n\r\n')[1]))).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: 'acme/ci',
      subject_token: 'of+the&issuer',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    });
    expect(rest.map((request) => headerOf(request, 'Authorization'))).toEqual([
      ...['Bearer first', 'Bearer first', 'Bearer first'],
      ...[null, 'Bearer second'],
    ]);
  });

  it('does not follow a redirect', async () => {
    other.script(answer('200 OK', me));
    server.script(answer('307 Temporary Redirect', '', [`Location: ${other.url}/api/v1/me/`]));

    expect(await errorOf(client().getMe())).toMatchObject({ status: 307 });
    expect(other.requests).toEqual([]);
  });
});
