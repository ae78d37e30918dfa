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
const countEntries = async () => (await at.pool.query("SELECT 1 FROM dns_audit_entry WHERE actor = 'token'")).rowCount;
const create = (name: string) =>
  at.call('POST', `/zones/${at.zoneId}/rrsets`, { token: at.acme.token, body: { name, type: 'A', records } });

describe('during a hold', () => {
  it('refuses writes with 503 and Retry-After, without a call upstream or an audit entry', async () => {
    const before = { calls: at.upstreamCalls(), entries: await countEntries() };

    const answer = await create('refused.acme');

    expect(answer.status).toBe(503);
    expect(answer.json.error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('stopped changes'),
    });
    expect(answer.headers.get('retry-after')).toBe('60');
    expect({ calls: at.upstreamCalls(), entries: await countEntries() }).toEqual(before);
  });

  it('serves reads', async () => {
    expect((await at.call('GET', `/zones/${at.zoneId}/rrsets`, { token: at.acme.token })).status).toBe(200);
  });

  it('accepts the same write when the hold has ended', async () => {
    expect((await create('later.acme')).status).toBe(503);
    await at.pool.query('UPDATE installation_hold SET ended_at = now()');

    expect((await create('later.acme')).status).toBe(201);
  });
});
