import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PUBLIC_URL, startClusterApi, type TestClusterApi } from '../support/start-cluster-api.js';

let test: TestClusterApi;
beforeAll(async () => {
  test = await startClusterApi();
});
afterAll(() => test.close());

type Headers = Record<string, string>;
const connection = { spec: { provider: 'hcloud', token: 't' } };

describe('a change', () => {
  const change = (headers: Headers) =>
    test.api.as(test.acme.admin).put(test.acme.path('/connections/main/')).set(headers).send(connection);

  it.each<[string, Headers]>([
    ['a client that is not a browser', {}],
    ['a page of this origin', { Origin: PUBLIC_URL, 'Sec-Fetch-Site': 'same-origin' }],
    ['an older browser on a page of this origin', { Origin: PUBLIC_URL }],
    ['the address bar', { 'Sec-Fetch-Site': 'none' }],
  ])('by %s is allowed', async (_who, headers) => {
    expect((await change(headers)).status).toBeLessThan(300);
  });

  it.each<[string, Headers]>([
    ['a page of another site', { Origin: 'https://evil.test', 'Sec-Fetch-Site': 'cross-site' }],
    ['an older browser on a page of another site', { Origin: 'https://evil.test' }],
    ['a page of a sibling domain', { Origin: 'http://other.corral.test', 'Sec-Fetch-Site': 'same-site' }],
    ['a page on another port', { Origin: `${PUBLIC_URL}:8080` }],
    ['a page with another scheme', { Origin: PUBLIC_URL.replace('http:', 'https:') }],
    ['a page without an origin, such as a sandboxed frame', { Origin: 'null' }],
    ['a page whose host only starts like this one', { Origin: `${PUBLIC_URL}.evil.test` }],
    ['a page of this origin, framed by another site', { Origin: PUBLIC_URL, 'Sec-Fetch-Site': 'cross-site' }],
    ['a form with Sec-Fetch-Site only', { 'Sec-Fetch-Site': 'cross-site' }],
    ['two origins', { Origin: `${PUBLIC_URL}, https://evil.test` }],
    ['an empty origin', { Origin: '' }],
    ['an unknown Sec-Fetch-Site', { 'Sec-Fetch-Site': 'teleported' }],
  ])('by %s is refused', async (_who, headers) => {
    const before = await test.db.connection.count();

    const { body } = await change(headers).expect(403);

    expect(body.code).toBe('cross_site_request');
    expect(await test.db.connection.count()).toBe(before);
  });

  it.each(['post', 'put', 'delete', 'patch'] as const)('by %s is refused on any path', async (method) => {
    for (const path of ['/auth/logout/', '/api/v1/me/', '/nowhere/', test.acme.path('/clusters/web/hibernate/')]) {
      const answer = await test.api.as(test.acme.admin)[method](path).set('Origin', 'https://evil.test').expect(403);
      expect(answer.body.code).toBe('cross_site_request');
    }
  });
});

describe('a read', () => {
  it.each(['get', 'head'] as const)(
    'by %s from another site is allowed, because browsers hide the answer from it',
    async (method) => {
      const answer = await test.api.as(test.acme.member)[method]('/api/v1/me/').set('Origin', 'https://evil.test');

      expect(answer.status).toBe(200);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(answer.headers['cross-origin-resource-policy']).toBe('same-origin');
    },
  );

  it('gets no CORS permission in a preflight request', async () => {
    const answer = await test.api
      .options(test.acme.path('/connections/main/'))
      .set({ Origin: 'https://evil.test', 'Access-Control-Request-Method': 'PUT' });

    expect(answer.status).toBe(405);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});
