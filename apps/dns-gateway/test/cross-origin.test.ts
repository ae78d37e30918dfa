import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway } from './support/start-gateway.js';

const CONSOLE = 'https://cloud.example.org';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ config: { consoleOrigins: [CONSOLE, 'http://127.0.0.1:4000'] } });
});
afterAll(() => gateway.close());

const preflight = (origin: string, path = '/zones', method = 'PUT') =>
  gateway.call('OPTIONS', path, {
    token: null,
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': 'authorization,content-type',
    },
  });
const permissionsOf = ({ headers }: { headers: Headers }) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

describe('a script of the console', () => {
  it('may send every method with a token, and asks for permission once in two hours', async () => {
    const answer = await preflight(CONSOLE);

    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(permissionsOf(answer)).toEqual({
      'access-control-allow-origin': CONSOLE,
      'access-control-allow-methods': 'GET,POST,PUT,DELETE',
      'access-control-allow-headers': 'Authorization,Content-Type',
      'access-control-expose-headers': expect.any(String),
      'access-control-max-age': '7200',
    });
    expect(answer.headers.get('vary')).toContain('Origin');
  });

  it('reads the headers of limits and the id of the request, also of an error', async () => {
    for (const token of [undefined, 'x'.repeat(64)]) {
      const answer = await gateway.call('GET', '/zones', {
        ...(token === undefined ? {} : { token }),
        headers: { Origin: CONSOLE },
      });

      expect(answer.status).toBe(token === undefined ? 200 : 401);
      expect(permissionsOf(answer)).toEqual({
        'access-control-allow-origin': CONSOLE,
        'access-control-expose-headers':
          'RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset,Retry-After,X-Correlation-Id',
      });
    }
  });

  it('is not charged for preflight requests', async () => {
    const remaining = async () =>
      Number((await gateway.call('GET', '/openapi.json', { token: null })).headers.get('ratelimit-remaining'));
    const before = await remaining();
    for (let time = 0; time < 20; time += 1) await preflight('http://127.0.0.1:4000');

    expect(before - (await remaining())).toBeLessThanOrEqual(1);
  });
});

describe('a script of another origin', () => {
  it.each([
    'https://evil.test',
    'https://cloud.example.org.evil.test',
    'http://cloud.example.org',
    'https://cloud.example.org:8443',
    'null',
  ])('of %s gets no permission', async (origin) => {
    const answers = [
      await preflight(origin),
      await gateway.call('GET', '/zones', { token: null, headers: { Origin: origin } }),
    ];

    for (const answer of answers) {
      expect(permissionsOf(answer)).toEqual({});
      expect(answer.headers.get('vary')).toContain('Origin');
    }
  });
});
