import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recordedLog } from '../support/recorded-log.js';
import { startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

const { log, lines } = recordedLog();
const innermost = new Error('the cause of it all, with a password=hunter2-hunter2');
let failure: Error;
let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi({ log, deps: { verifyToken: () => Promise.reject(failure) } });
});
afterAll(() => test.close());

const fail = (error: Error) => {
  failure = error;
  const sent = test.api.as(test.acme.admin).put(test.acme.path('/connections/main/'));
  return sent.send({ spec: { provider: 'hcloud', token: 'token-of-this-request' } });
};

describe('an unexpected error', () => {
  it('is answered 500 with the request’s id and without details', async () => {
    const { body, text } = await fail(new Error('a detail nobody should see', { cause: innermost })).expect(500);

    expect(body).toMatchObject({
      code: 'internal_error',
      detail: 'The request failed because of an internal error. Quote `instance` when you report it.',
    });
    expect(text).not.toMatch(/detail nobody|hunter2|at .*\.ts/);
  });

  it('is logged once under that id, with its chain of causes', async () => {
    const answer = await fail(new Error('what happened', { cause: innermost })).expect(500);

    const requestId = answer.headers['x-correlation-id'];
    const logged = (await lines()).filter((line) => line.requestId === requestId);
    expect(logged.map(({ message, level }) => [message, level])).toEqual([
      ['unexpected error', 'error'],
      ['request', 'warn'],
    ]);
    expect(JSON.stringify(logged[0])).toMatch(/what happened.*the cause of it all/);
    expect(JSON.stringify(logged)).not.toContain('token-of-this-request');
  });

  it('changes nothing', async () => {
    await fail(new Error('no')).expect(500);

    expect([await test.db.connection.count(), await test.db.auditEntry.count()]).toEqual([0, 0]);
  });

  it('that is not an Error object is answered the same way', async () => {
    await fail('text' as unknown as Error).expect(500);
    await fail(undefined as unknown as Error).expect(500);
  });
});

describe('an unknown path or method', () => {
  it.each(['get', 'post', 'put', 'delete', 'patch'] as const)(
    'is answered 404 for %s on an unknown path',
    async (method) => {
      const { body } = await test.api.as(test.acme.admin)[method]('/api/v1/nowhere/').expect(404);

      expect(body.detail).toBe('Not found, or you do not have access. Check the path.');
    },
  );

  it.each([
    ['patch', '/api/v1/me/', 'GET, HEAD'],
    ['post', '/api/v1/me/', 'GET, HEAD'],
    ['options', '/api/v1/teams/acme/connections/', 'GET, HEAD, POST'],
    ['patch', '/api/v1/teams/acme/connections/main/', 'PUT, GET, HEAD, DELETE'],
    ['get', '/auth/logout/', 'POST'],
  ] as const)('is answered 405 for %s %s, with the allowed methods', async (method, path, allow) => {
    const answer = await test.api.as(test.acme.admin)[method](path).expect(405);

    expect([answer.body.code, answer.headers.allow]).toEqual(['method_not_allowed', allow]);
  });

  it('is answered without a body for HEAD', async () => {
    const answer = await test.api.head('/api/v1/me/').expect(401);

    expect(answer.text ?? '').toBe('');
  });
});
