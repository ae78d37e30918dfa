import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/*
 * Known mistakes of compatible gateways for this API, and the test that keeps ours from making each of them. The right
 * column names the file in this folder, or `src/…` when the test is there.
 *
 *   every Terraform update ends with a PUT of the record set ... rrset-writes, client-traces
 *   some clients poll /zones/actions/{id} ...................... actions, client-traces
 *   tokens of 64 characters, never 32 .......................... here
 *   exact success statuses, bodies with both rrset and action .. rrset-writes, access
 *   rrset.zone as a number, labels never null, comment always there ... every answer, by checkDnsAnswer
 *   no labels or comments of our own ........................... rrset-writes (bodies arrive as sent)
 *   null ttl, comment and labels in requests ................... rrset-writes, client-traces
 *   details in every error ..................................... every refusal, by checkDnsAnswer
 *   the upstream's messages unchanged .......................... rrset-writes, client-traces (duplicate value)
 *   messages that stay the same for the same mistake ........... error-table, here
 *   409 and 429, not 423 and 503, for our own contention ....... error-table
 *   JSON with its content type on every error .................. fuzz, error-table, bad-http
 *   replayed POSTs ............................................. the tests of writes under faults
 *   actions: page and sort ignored, no meta, ownership, ids .... actions
 *   actions survive a restart .................................. here
 *   every action ends, whatever the upstream says .............. here
 *   last_page a number, six keys ............................... rrset-lists, src/domain/list-query
 *   per_page=100 clamped, repeated keys ........................ zones, rrset-lists
 *   one zone by name and by number ............................. zones, client-traces
 *   names decoded once, in one spelling, label boundaries ...... bad-names, src/domain/rrset-access
 *   the parent's _acme-challenge, the zone's wildcard .......... bad-names
 *   registry names as children, siblings refused ............... src/domain/rrset-access
 *   relative targets pass as they are .......................... here
 *   values are not rewritten, order is not promised ............ rrset-writes
 *   differing ttls are the upstream's to refuse ................ client-traces
 *   removing the last value removes the set .................... rrset-writes
 *   reads after a write show it ................................ rrset-writes, here
 *   foreign zones and names are 404 ............................ access, zones
 *   id and name come first ..................................... zones, client-traces
 *   only the team's sets are listed ............................ rrset-lists
 *   reads work while the upstream is unavailable ............... here
 *   repeated slashes ........................................... bad-names
 *   no Link, no RateLimit-* of the upstream .................... rrset-writes
 *   a write is held for a bounded time ......................... here
 *
 * These do not apply: the gateway does not serve update_records, change_protection, zone files and zone writes, and the
 * API documents this. @/NS and @/SOA belong to no team and are not shown. There is only one zone, so there are no
 * secondary zones. The operator chooses the address under which the API is served.
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

it('the same mistake gets the same text every time, so that a status that shows it does not flap', async () => {
  const texts = new Set<string>();
  for (let time = 0; time < 3; time += 1) texts.add((await create('globex')).text);
  await create('stable.acme');
  for (const note of ['a', 'b']) texts.add((await create('stable.acme', { note })).text);

  expect(texts.size).toBe(2);
});

describe('an action', () => {
  it('that never ends upstream fails after a while, and stays failed', async () => {
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

  it('survives a restart: it is in the database before its write is answered', async () => {
    const { json } = await create('kept.acme');

    const { rows } = await gateway.pool.query('SELECT body FROM dns_action WHERE id = $1', [json.action.id]);

    expect(JSON.parse((rows[0] as { body: string }).body)).toEqual(json.action);
  });
});

it.each([
  ['relative', 'mail'],
  ['absolute', 'mail.example.net.'],
  ['the apex', '@'],
])('a target that is %s stays as written', async (what, value) => {
  const name = `target-${what.replace(' ', '-')}.acme`;
  const answer = await create(name, { type: 'CNAME', records: [{ value }] });

  expect(answer.status).toBe(201);
  expect((await read(name, 'CNAME')).json.rrset.records).toEqual([{ value, comment: '' }]);
});

it('a read right after the answer to a write shows it, while its action still runs', async () => {
  const created = await create('fresh.acme');

  expect(created.json.action.status).toBe('running');
  expect((await read('fresh.acme')).status).toBe(200);
});

it('a read that found nothing before a write finds the set after it', async () => {
  expect((await read('later.acme')).status).toBe(404);
  await create('later.acme');

  expect((await read('later.acme')).status).toBe(200);
});

describe('while the upstream is unavailable', () => {
  it('lists and reads still work, so that no client sees an empty zone', async () => {
    await create('steady.acme');
    gateway.cloud.admin.addFaults({ times: null, effect: { reset: 'before' } });

    const [zones, list, one] = await Promise.all([
      gateway.call('GET', '/zones'),
      gateway.call('GET', `/zones/${ZONE}/rrsets?name=steady.acme`),
      read('steady.acme'),
    ]);

    expect([zones?.status, list?.json.rrsets.length, one?.status]).toEqual([200, 1, 200]);
  });

  it('a write ends before clients give up, and is not repeated while its outcome is unknown', async () => {
    const impatient = await startGateway({ beside: gateway, timeoutMs: 1_000, config: { settleWithinMs: 100 } });
    gateway.cloud.admin.addFaults({ times: null, effect: { hang: true } });
    const posts = () => {
      const routes = Object.entries(gateway.cloud.admin.calls().byRoute);
      return routes.reduce((sum, [route, count]) => sum + (route.startsWith('POST ') ? count : 0), 0);
    };
    const [calls, writes] = [posts(), gateway.cloud.admin.writes().length];

    // The upstream never answers, so the answer comes from the time limit of one call.
    const answer = await post(impatient, 'hanging.acme');

    expect([answer.status, answer.json.error.code]).toEqual([502, 'upstream_unavailable']);
    expect(posts() - calls).toBe(1);
    expect(gateway.cloud.admin.writes()).toHaveLength(writes);
    await impatient.close();
  });
});

/** Makes the last look-up older than the poll interval, so that the action is looked up again. */
async function pollOnceStale(path: string) {
  await gateway.pool.query(`UPDATE dns_action SET checked_at = now() - interval '1 minute'`);
  return (await gateway.call('GET', path)).json.action;
}
