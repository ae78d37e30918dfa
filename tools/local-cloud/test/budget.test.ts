import { afterEach, describe, expect, it } from '@jest/globals';
import { startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
afterEach(() => cloud.close());

describe('the request budget', () => {
  it('is charged for every request, and stated in the headers', async () => {
    cloud = await startTestCloud();
    expect((await cloud.call('GET', '/nowhere')).headers.get('RateLimit-Limit')).toBe('3600');
    cloud.admin.setBudget({ requestsPerHour: 36, remaining: 36 });

    await cloud.call('GET', '/zones', undefined, {});
    const { headers } = await cloud.call('GET', '/nowhere');

    expect(headers.get('RateLimit-Limit')).toBe('36');
    expect(headers.get('RateLimit-Remaining')).toBe('34');
    expect(Number(headers.get('RateLimit-Reset')) - Date.now() / 1000).toBeLessThan(201);
    expect(headers.get('X-Correlation-Id')).toMatch(/^[0-9a-f]{16}$/);
  });

  it('refuses requests when it is used up, and is refilled as the clock advances', async () => {
    cloud = await startTestCloud({ requestsPerHour: 36 });
    cloud.admin.setBudget({ remaining: 1 });

    const statuses = [await cloud.call('GET', '/zones'), await cloud.call('GET', '/zones')];
    cloud.admin.advanceClock(100_000);
    const later = await cloud.call('GET', '/zones');

    expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
    expect(statuses[1]?.body).toEqual({
      error: { code: 'rate_limit_exceeded', message: 'limit of 36 requests per hour reached', details: null },
    });
    expect(statuses[1]?.headers.get('RateLimit-Remaining')).toBe('0');
    expect(later.status).toBe(200);
  });

  it('is separate for each project', async () => {
    cloud = await startTestCloud({ projectTokens: ['other'] });
    cloud.admin.setBudget({ remaining: 0 });

    const other = await cloud.call('GET', '/pricing', undefined, { Authorization: 'Bearer other' });

    expect([other.status, other.headers.get('RateLimit-Remaining')]).toEqual([200, '3599']);
    expect((await cloud.call('GET', '/zones')).status).toBe(429);
  });
});
