import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway } from './support/start-gateway.js';

let at: TestGateway;
beforeAll(async () => {
  at = await startGateway();
});
afterAll(() => at.close());
beforeEach(() => at.pool.query("INSERT INTO installation_hold (reason) VALUES ('requested')"));
afterEach(() => at.pool.query('DELETE FROM installation_hold'));

const records = [{ value: '192.0.2.1' }];
const create = (name: string) =>
  at.call('POST', `/zones/${at.zoneId}/rrsets`, { token: at.acme.token, body: { name, type: 'A', records } });

describe('during a hold', () => {
  it('refuses writes with 503 and Retry-After, without a call upstream or an audit entry', async () => {
    const before = at.upstreamCalls();

    const answer = await create('refused.acme');

    expect(answer.status).toBe(503);
    expect(answer.json.error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('stopped changes'),
    });
    expect(answer.headers.get('retry-after')).toBe('60');
    expect(at.upstreamCalls()).toBe(before);
    expect((await at.pool.query("SELECT 1 FROM dns_audit_entry WHERE name = 'refused.acme'")).rowCount).toBe(0);
  });

  it('serves reads', async () => {
    expect((await at.call('GET', `/zones/${at.zoneId}/rrsets`, { token: at.acme.token })).status).toBe(200);
  });

  it('accepts writes when the hold has ended', async () => {
    await at.pool.query('UPDATE installation_hold SET ended_at = now()');

    expect((await create('accepted.acme')).status).toBe(201);
  });
});
