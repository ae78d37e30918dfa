import { gzipSync } from 'node:zlib';
import { memoryBuckets } from '@corral/admission';
import { dnsErrorCodes } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from './support/expect-refusal.js';
import { startHoldingUpstream } from './support/holding-upstream.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/*
 * One test per row of the documented error table, and per code that the gateway has in addition.
 */

let gateway: TestGateway;
beforeAll(async () => {
  // The upstream stays unavailable in some rows, so do not wait long for a settlement.
  gateway = await startGateway({ config: { settleWithinMs: 100 } });
});
afterAll(async () => {
  await gateway.close();
  expect(untested()).toEqual([]);
});
afterEach(() => gateway.cloud.admin.clearFaults());

const records = [{ value: '192.0.2.1' }];
const many = Array.from({ length: 51 }, (_, index) => ({ value: `192.0.2.${index}` }));
const seen = new Set<string>();
function expectRow(answer: Answer, status: number, code: string): void {
  expectError(answer, status, code);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
  // Clients treat a changed text as a change, so messages must not vary.
  expect(answer.text).not.toContain(answer.headers.get('x-correlation-id') as string);
  seen.add(code);
}
const create = (change: object) =>
  gateway.call('POST', `/zones/${ZONE}/rrsets`, { body: { name: 'api.acme', type: 'A', records, ...change } });

type Row = [status: number, code: string, when: string, send: () => Promise<Answer>];
const rows: Row[] = [
  [400, 'invalid_input', 'a query parameter is invalid', () => gateway.call('GET', '/zones?page=0')],
  [401, 'unauthorized', 'there is no token', () => gateway.call('GET', '/zones', { token: null })],
  [403, 'forbidden', 'a write names another team’s name', () => create({ name: 'globex' })],
  [403, 'resource_limit_exceeded', 'a record set would have too many records', () => create({ records: many })],
  [404, 'not_found', 'the path is not served', () => gateway.call('GET', '/servers')],
  [405, 'method_not_allowed', 'the path has no such method', () => gateway.call('DELETE', `/zones/${ZONE}`)],
  [409, 'uniqueness_error', 'the name of a demo is taken', takenDemo],
  [413, 'payload_too_large', 'the body is over 1 MiB', () => create({ padding: 'x'.repeat(1_048_576) })],
  [
    415,
    'unsupported_media_type',
    'the body is compressed',
    () => gateway.call('POST', '/demos', { body: gzipSync('{}'), headers: { 'Content-Encoding': 'gzip' } }),
  ],
];

describe('the error table', () => {
  it.each(rows)('%i %s: %s', async (status, code, _when, send) => {
    expectRow(await send(), status, code);
  });

  it('409 conflict: an earlier write to the set does not end in time', async () => {
    await create({ name: 'busy.acme' });
    const upstream = await startHoldingUpstream(gateway.cloud.apiUrl);
    const held = await startGateway({ beside: gateway, upstreamUrl: upstream.url });
    const hasty = await startGateway({ beside: gateway, config: { writeWaitMs: 100 } });
    const release = upstream.hold('busy.acme');
    const change = (through: TestGateway, ttl: number) =>
      through.call('POST', `/zones/${ZONE}/rrsets/busy.acme/A/actions/change_ttl`, { body: { ttl } });
    const first = change(held, 600);
    await waitFor('the earlier write to be sent', () => upstream.calls('busy.acme') === 1);

    expectRow(await change(hasty, 700), 409, 'conflict');
    release();
    expect((await first).status).toBe(201);
    await Promise.all([held.close(), hasty.close()]);
    await upstream.close();
  });

  it('429 rate_limit_exceeded: a request limit is exceeded', async () => {
    const { token } = await gateway.createTeam('initech');
    const config = { limits: { perTokenPerMinute: 1 } };
    const strict = await startGateway({ beside: gateway, buckets: memoryBuckets(() => 0), config });
    const get = () => strict.call('GET', '/zones', { token });

    expect((await get()).status).toBe(200);
    expectRow(await get(), 429, 'rate_limit_exceeded');
    await strict.close();
  });

  it('502 upstream_unavailable: the upstream drops the connection', async () => {
    // Reads fail too, because they could reveal the outcome of the write.
    gateway.cloud.admin.addFaults({ times: null, effect: { reset: 'after' } });

    expectRow(await create({}), 502, 'upstream_unavailable');
  });
});

describe('the gateway’s own faults', () => {
  it('503 unavailable: the zone has not been synced yet', async () => {
    const fresh = await startGateway();
    await fresh.pool.query(`UPDATE dns_zone SET name = 'elsewhere.' || name`);

    const asked = ['/zones', `/zones/${ZONE}`, `/zones/${ZONE}/rrsets`].map((path) => ['GET', path] as const);
    for (const [method, path] of [...asked, ['POST', '/demos'] as const]) {
      const answer = await fresh.call(method, path, method === 'POST' ? { body: {} } : {});
      expectRow(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('5');
    }
    await fresh.close();
  });

  it('500 server_error: an unexpected error, without details in the answer', async () => {
    await gateway.pool.query('ALTER TABLE dns_rrset RENAME TO hidden');

    const answer = await gateway.call('GET', `/zones/${ZONE}/rrsets`);

    await gateway.pool.query('ALTER TABLE hidden RENAME TO dns_rrset');
    expectRow(answer, 500, 'server_error');
    expect(answer.text).not.toMatch(/dns_rrset|relation "|select/i);
    expect((await gateway.call('GET', `/zones/${ZONE}/rrsets`)).status).toBe(200);
  });
});

/** Codes without a test. Checked after all tests, which run in any order. */
const untested = (): string[] => Object.keys(dnsErrorCodes).filter((code) => !seen.has(code));

async function takenDemo(): Promise<Answer> {
  const body = { name: 'taken' };
  expect((await gateway.call('POST', '/demos', { body })).status).toBe(201);
  return gateway.call('POST', '/demos', { body });
}
