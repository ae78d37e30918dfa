import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/*
 * Where compatible gateways of this API went wrong for its clients, and which test holds ours to it. Beside each: the
 * file in this folder, or `src/…` beside the rule.
 *
 *   PUT of a record set ends every Terraform update ............ rrset-writes, client-traces
 *   /zones/actions/{id} is polled by some ...................... actions, client-traces
 *   tokens of 64 characters, never 32 .......................... here
 *   exact success statuses, bodies with both rrset and action .. rrset-writes, access
 *   rrset.zone as a number, labels never null, comment a key ... every answer, by checkDnsAnswer
 *   no labels or comments of our own ........................... rrset-writes (bodies arrive as they were sent)
 *   null ttl, comment and labels in requests ................... rrset-writes, client-traces
 *   details in every error ..................................... every refusal, by checkDnsAnswer
 *   the upstream's messages unchanged .......................... rrset-writes, client-traces (duplicate value)
 *   nothing in messages that changes ........................... error-table, here
 *   409 and 429, not 423 and 503, for our own contention ....... error-table
 *   JSON with its content type on every error .................. fuzz, error-table, bad-http
 *   replayed POSTs ............................................. the tests of writes under faults
 *   actions: page and sort ignored, no meta, ownership, ids .... actions
 *   actions survive a restart .................................. here
 *   an action ends, whatever the upstream says ................. here
 *   last_page a number, six keys ............................... rrset-lists, src/domain/list-query
 *   per_page=100 clamped, repeated keys ........................ zones, rrset-lists
 *   one zone by name and by number ............................. zones, client-traces
 *   decoding once, names in one spelling, label boundaries ..... bad-names, src/domain/rrset-access
 *   the parent's _acme-challenge, the zone's wildcard .......... bad-names
 *   registry names as children, siblings refused ............... src/domain/rrset-access
 *   relative targets pass as they are .......................... here
 *   values are not rewritten, order is not promised ............ rrset-writes
 *   differing ttls are the upstream's to refuse ................ client-traces
 *   the last value takes the set with it ....................... rrset-writes
 *   reads after writes see them ................................ rrset-writes, here
 *   foreign zones and names are 404 ............................ access, zones
 *   id and name come first ..................................... zones, client-traces
 *   only the team's sets are listed ............................ rrset-lists
 *   reads go on while the upstream is away ..................... here
 *   repeated slashes ........................................... bad-names
 *   no Link, no RateLimit-* of the upstream .................... rrset-writes
 *   a write is held for a bounded time ......................... here
 *
 * Not ours: update_records, change_protection, zone files and zone writes are not served, which the API documents;
 * @/NS and @/SOA belong to no team and are not shown; there are no secondary zones, for there is one zone; where the
 * API is mounted is the operator's choice of address.
 */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({
    actionMs: 600_000,
    config: { actionRunningMsMax: 150 },
  });
});
afterAll(() => gateway.close());
afterEach(() => gateway.cloud.admin.clearFaults());

const records = [{ value: '192.0.2.1' }];
const post = (to: TestGateway, name: string, change: object = {}) =>
  to.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type: 'A', records, ...change } });
const create = (name: string, change: object = {}) => post(gateway, name, change);
const read = (name: string, type = 'A') => gateway.call('GET', `/zones/${ZONE}/rrsets/${name}/${type}`);

it('a token has the 64 characters that Terraform and the CLI check', () => {
  expect(gateway.acme.token).toMatch(/^[A-Za-z0-9]{64}$/);
});

it('the same mistake gets the same text every time, so that statuses made of it do not flap', async () => {
  const texts = new Set<string>();
  for (let time = 0; time < 3; time += 1) texts.add((await create('globex')).text);
  await create('stable.acme');
  for (const note of ['a', 'b']) texts.add((await create('stable.acme', { note })).text);

  expect(texts.size).toBe(2);
});

describe('an action', () => {
  it('that the upstream never ends has failed after a while, and stays so', async () => {
    const { json } = await create('endless.acme');
    const path = `/actions/${json.action.id}`;
    await gateway.pool.query(`UPDATE dns_action SET started_at = now() - interval '1 minute' WHERE id = $1`, [
      json.action.id,
    ]);

    const polled = await pollOnceStale(path);

    expect(polled).toMatchObject({ id: json.action.id, command: 'create_rrset', status: 'error' });
    expect(polled.error).toMatchObject({ code: 'timeout' });
    expect(Date.parse(polled.finished as string)).toBeGreaterThan(0);
    const before = gateway.upstreamCalls();
    expect((await gateway.call('GET', path)).json.action).toEqual(polled);
    expect(gateway.upstreamCalls()).toBe(before);
  });

  it('is kept where a restart does not reach: it is in the database before its write is answered', async () => {
    const { json } = await create('kept.acme');

    const { rows } = await gateway.pool.query('SELECT body FROM dns_action WHERE id = $1', [json.action.id]);

    expect(JSON.parse((rows[0] as { body: string }).body)).toEqual(json.action);
  });
});

it.each([
  ['relative', 'mail'],
  ['absolute', 'mail.example.net.'],
  ['the apex', '@'],
])('a target that is %s stays as it was written', async (what, value) => {
  const name = `target-${what.replace(' ', '-')}.acme`;
  const answer = await create(name, { type: 'CNAME', records: [{ value }] });

  expect(answer.status).toBe(201);
  expect((await read(name, 'CNAME')).json.rrset.records).toEqual([{ value, comment: '' }]);
});

it('a read right after the answer to a write sees it, while its action still runs', async () => {
  const created = await create('fresh.acme');

  expect(created.json.action.status).toBe('running');
  expect((await read('fresh.acme')).status).toBe(200);
});

it('a read that found nothing before a write finds the set after it', async () => {
  expect((await read('later.acme')).status).toBe(404);
  await create('later.acme');

  expect((await read('later.acme')).status).toBe(200);
});

describe('while the upstream is away', () => {
  it('lists and reads go on, so that no client takes the zone for empty', async () => {
    await create('steady.acme');
    gateway.cloud.admin.addFaults({ times: null, effect: { reset: 'before' } });

    const [zones, list, one] = await Promise.all([
      ...[gateway.call('GET', '/zones'), gateway.call('GET', `/zones/${ZONE}/rrsets?name=steady.acme`)],
      read('steady.acme'),
    ]);

    expect([zones?.status, list?.json.rrsets.length, one?.status]).toEqual([200, 1, 200]);
  });

  it('a write is given up before clients give up, and is not repeated while nobody knows what became of it', async () => {
    const impatient = await startGateway({ beside: gateway, timeoutMs: 1_000, config: { settleWithinMs: 100 } });
    gateway.cloud.admin.addFaults({ times: null, effect: { hang: true } });
    const posts = () => {
      const routes = Object.entries(gateway.cloud.admin.calls().byRoute);
      return routes.reduce((sum, [route, count]) => sum + (route.startsWith('POST ') ? count : 0), 0);
    };
    const [calls, writes] = [posts(), gateway.cloud.admin.writes().length];

    // The upstream never answers: that there is an answer is the bound of one call.
    const answer = await post(impatient, 'hanging.acme');

    expect([answer.status, answer.json.error.code]).toEqual([502, 'upstream_unavailable']);
    expect(posts() - calls).toBe(1);
    expect(gateway.cloud.admin.writes()).toHaveLength(writes);
    await impatient.close();
  });
});

/** An action is looked up again once its last look-up is older than the poll interval. */
async function pollOnceStale(path: string) {
  await gateway.pool.query(`UPDATE dns_action SET checked_at = now() - interval '1 minute'`);
  return (await gateway.call('GET', path)).json.action;
}
