import { checkDnsAnswer } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mirroredRecords, upstreamRecords } from '../support/audit.js';
import { startGateway, type TestGateway, type TestTeam, ZONE } from '../support/start-gateway.js';

let gateway: TestGateway;
let replica: TestGateway;
beforeAll(async () => {
  // None of the many concurrent writes may be refused because it waited too long.
  gateway = await startGateway({ waitMsMax: 60_000 });
  replica = await startGateway({ beside: gateway, waitMsMax: 60_000 });
});
afterAll(async () => {
  await replica.close();
  await gateway.close();
});

const records = (count: number) => Array.from({ length: count }, (_, at) => ({ value: `192.0.2.${at}` }));

async function teamHolding(slug: string, count: number): Promise<TestTeam> {
  const team = await gateway.createTeam(slug);
  for (let left = count, at = 0; left > 0; left -= 50, at += 1) {
    const body = { name: `held${at}.${slug}`, type: 'A', records: records(Math.min(50, left)) };
    const { status } = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { token: team.token, body });
    expect(status).toBe(201);
  }
  return team;
}

describe.each([
  ['one gateway', () => [gateway]],
  ['two gateways on one database', () => [gateway, replica]],
] as const)('the quota of a team, through %s', (what, gateways) => {
  it('holds for 64 concurrent writes with 190 records: ten pass, and mirror and upstream end at 200', async () => {
    const team = await teamHolding(what.startsWith('one') ? 'crowded' : 'doubled', 190);
    const through = gateways();
    gateway.cloud.admin.resetCalls();

    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, at) => {
        const path = `/zones/${ZONE}/rrsets/n${at}.${team.slug}/A/actions/add_records`;
        const target = through[at % through.length] as TestGateway;
        return target.call('POST', path, { token: team.token, body: { records: records(1) } });
      }),
    );

    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(54);
    for (const { status, json } of refused) {
      checkDnsAnswer.error(json);
      expect([status, json.error.code]).toEqual([403, 'resource_limit_exceeded']);
      expect(json.error.details).toEqual({ limits: [{ name: 'records_per_team' }] });
    }
    expect(gateway.upstreamCalls()).toBe(10);
    expect(upstreamRecords(gateway, team.slug)).toBe(200);
    expect(await mirroredRecords(gateway, team.slug)).toBe(200);
  });
});

describe('a team at its quota', () => {
  it('can still make writes that add nothing, and can add records again after it deleted some', async () => {
    const { slug, token } = await teamHolding('full', 200);
    const send = (method: string, path: string, body?: object) =>
      gateway.call(method, `/zones/${ZONE}/rrsets${path}`, { token, ...(body === undefined ? {} : { body }) });
    const another = { name: `more.${slug}`, type: 'A', records: records(1) };

    expect((await send('POST', '', another)).status).toBe(403);
    expect((await send('POST', `/held0.${slug}/A/actions/change_ttl`, { ttl: 60 })).status).toBe(201);
    expect((await send('POST', `/held0.${slug}/A/actions/set_records`, { records: records(50) })).status).toBe(201);
    expect((await send('POST', `/held0.${slug}/A/actions/remove_records`, { records: records(1) })).status).toBe(201);

    expect((await send('POST', '', another)).status).toBe(201);
    expect(upstreamRecords(gateway, slug)).toBe(200);
  });

  it('can use the room that a deletion has freed, but not the room of a deletion whose action failed', async () => {
    const { slug, token } = await teamHolding('exchanging', 200);
    const send = (method: string, path: string, body?: object) =>
      gateway.call(method, `/zones/${ZONE}/rrsets${path}`, { token, ...(body === undefined ? {} : { body }) });
    // The reconciler does this. Without it, the creation of a set may still be running, and its outcome is unknown.
    await gateway.pool.query(`UPDATE dns_action SET status = 'success'`);
    const another = (at: number) => ({ name: `more${at}.${slug}`, type: 'A', records: records(50) });

    expect((await send('DELETE', `/held0.${slug}/A`)).status).toBe(201);
    expect((await send('POST', '', another(0))).status).toBe(201); // waits for the end of the deletion’s action
    gateway.cloud.admin.addFaults({ effect: { actionError: { code: 'action_failed', message: 'no', afterMs: 200 } } });
    expect((await send('DELETE', `/held1.${slug}/A`)).status).toBe(201);
    const refused = await send('POST', '', another(1));

    expect([refused.status, refused.json.error.code]).toEqual([403, 'resource_limit_exceeded']);
    expect(upstreamRecords(gateway, slug)).toBe(200);
    expect(await mirroredRecords(gateway, slug)).toBe(200);
  });
});
