import { checkDnsAnswer } from '@corral/contracts';
import { type DatabaseDoor, databaseDoor, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { auditOf } from './support/audit.js';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

const RRSETS = `/zones/${ZONE}/rrsets`;

let gateway: TestGateway;
let door: DatabaseDoor;
beforeAll(async () => {
  gateway = await startGateway({ config: { actionPollMs: 10 } });
  door = databaseDoor(gateway.databaseUrl);
});
afterAll(() => gateway.close());
afterEach(() => door.open());

const create = (name: string): Promise<Answer> =>
  gateway.call('POST', RRSETS, { body: { name, type: 'A', records: [{ value: '192.0.2.1' }] } });

function expectUnavailable({ status, json, headers }: Answer): void {
  checkDnsAnswer.error(json);
  expect(status).toBe(503);
  expect(json.error).toMatchObject({ code: 'unavailable', details: null });
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
}

describe('during a Postgres outage', () => {
  it('reads and writes get 503 with Retry-After, nothing is sent upstream, and service recovers by itself', async () => {
    const { json } = await create('before.acme');
    const actionId = json.action.id;
    gateway.cloud.admin.resetCalls();
    await door.shut();

    for (const path of ['/zones', `/zones/${ZONE}`, RRSETS, `${RRSETS}/before.acme/A`, `/actions/${actionId}`]) {
      expectUnavailable(await gateway.call('GET', path));
    }
    expectUnavailable(await create('during.acme'));
    expectUnavailable(await gateway.call('DELETE', `${RRSETS}/before.acme/A`));
    expectUnavailable(await gateway.call('GET', RRSETS, { token: gateway.globex.token }));
    expect(gateway.upstreamCalls()).toBe(0);
    await door.open();

    await waitFor('reads to work', async () => (await gateway.call('GET', RRSETS)).status === 200);
    expect((await create('during.acme')).status).toBe(201);
    expect((await gateway.call('DELETE', `${RRSETS}/before.acme/A`)).status).toBe(201);
    expect((await gateway.call('GET', `/actions/${actionId}`)).status).toBe(200);
  });

  it('a request without a valid token still gets 401', async () => {
    await door.shut();

    expect((await gateway.call('GET', RRSETS, { token: null })).status).toBe(401);
    expect((await gateway.call('GET', RRSETS, { token: 'x'.repeat(64) })).status).toBe(401);
  });

  it('a revoked token is rejected afterwards, although the notification was lost', async () => {
    const { token, tokenId } = await gateway.issueToken(gateway.acme);
    expect((await gateway.call('GET', RRSETS, { token })).status).toBe(200);
    await door.shut();
    await door.open();

    await waitFor('the revocation to be written', async () => {
      await gateway.pool.query('UPDATE dns_token SET revoked_at = now() WHERE id = $1', [tokenId]);
      return true;
    });

    expect((await gateway.call('GET', RRSETS, { token })).status).toBe(401);
  });
});

describe('a Postgres outage during a write', () => {
  it('that is short: the write ends with the upstream’s result', async () => {
    gateway.cloud.admin.resetCalls();
    gateway.cloud.admin.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect: { delayMs: 200 } });
    const answer = create('short.acme');
    await waitFor('the call upstream', () => gateway.upstreamCalls() === 1);

    await door.shut();
    await door.open();

    expect((await answer).status).toBe(201);
    expect(await auditOf(gateway, 'short.acme')).toEqual([expect.objectContaining({ state: 'completed' })]);
    expect((await gateway.call('GET', `${RRSETS}/short.acme/A`)).status).toBe(200);
  });

  it('that lasts: 503, and the entry stays pending for settlement', async () => {
    gateway.cloud.admin.resetCalls();
    gateway.cloud.admin.addFaults({ match: { method: 'POST', path: '/rrsets$' }, effect: { delayMs: 1_000 } });
    const answer = create('long.acme');
    await waitFor('the call upstream', () => gateway.upstreamCalls() === 1);

    await door.shut();
    expectUnavailable(await answer);
    await door.open();

    const entries = () => auditOf(gateway, 'long.acme');
    await waitFor('Postgres to be back', async () => (await entries()).length === 1);
    expect(await entries()).toEqual([expect.objectContaining({ state: 'pending', reserved_records: 1 })]);
  });
});
