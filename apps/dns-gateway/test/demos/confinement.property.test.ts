import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createSet, makeDemo, type TestDemo } from '../support/demos.js';
import { expectError } from '../support/expect-refusal.js';
import { type Answer, DEMO_ZONE, startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

/*
 * Three owners of names: two demos and a team that has the label of one of them. Each has a set that all of them request, through
 * every endpoint and in every zone. No owner may read or write outside its own names.
 */

const records = [{ value: '192.0.2.9' }];
let gateway: TestGateway;
let own: TestDemo;
let other: TestDemo;
let teamToken: string;

beforeAll(async () => {
  gateway = await startGateway();
  own = await makeDemo(gateway, { name: 'acme' });
  other = await makeDemo(gateway, { name: 'other' }, gateway.globex.token);
  teamToken = gateway.acme.token;
  for (const { token, label } of [own, other]) await createSet(gateway, token, `www.${label}`);
  const body = { name: 'www.acme', type: 'A', records: [{ value: '198.51.100.1' }] };
  expect((await gateway.call('POST', `/zones/${ZONE}/rrsets`, { token: teamToken, body })).status).toBe(201);
});
afterAll(() => gateway.close());

/** The contents of both zones as text, to detect changes. */
const upstream = (): string => JSON.stringify(gateway.cloud.admin.zones().map(({ name, rrsets }) => [name, rrsets]));

const label = fc.constantFrom('acme', 'other', 'globex', 'xacme', 'acme-x', '@', '*', '');
const name = fc.oneof(
  label,
  fc.tuple(fc.constantFrom('www', '*', '_acme-challenge', 'a.b', '-'), label).map((parts) => parts.join('.')),
  fc.tuple(label, fc.constantFrom(ZONE, DEMO_ZONE)).map((parts) => parts.join('.')),
);
const zone = () => fc.constantFrom(ZONE, DEMO_ZONE, String(gateway.zoneId), String(gateway.demoZoneId));
const write = fc.constantFrom(
  (path: string, of: string): [string, string, object?] => ['POST', path, { name: of, type: 'A', records }],
  (path: string, of: string): [string, string, object?] => ['DELETE', `${path}/${of}/A`],
  (path: string, of: string): [string, string, object?] => ['PUT', `${path}/${of}/A`, { labels: { env: 'x' } }],
  ...['set_records', 'add_records', 'remove_records'].map(
    (action) =>
      (path: string, of: string): [string, string, object?] => [
        'POST',
        `${path}/${of}/A/actions/${action}`,
        { records: [{ value: '192.0.2.1' }, ...records] },
      ],
  ),
  (path: string, of: string): [string, string, object?] => ['POST', `${path}/${of}/A/actions/change_ttl`, { ttl: 60 }],
);

const isOwn = (of: string, root: string): boolean => of === root || of.endsWith(`.${root}`);

describe.each([
  ['a demo’s token', () => own.token, DEMO_ZONE, 'acme'],
  ['a team’s token', () => teamToken, ZONE, 'acme'],
])('%s', (_who, token, ownZone, root) => {
  it('never writes outside its own names in its own zone', async () => {
    await fc.assert(
      fc.asyncProperty(zone(), name, write, async (asked, of, send) => {
        const isIts = isOwn(of, root) && (asked === ownZone || asked === ownZoneId(ownZone));
        fc.pre(!isIts);
        const before = upstream();
        const [method, path, body] = send(`/zones/${asked}/rrsets`, of);

        const answer = await gateway.call(method, path, { token: token(), ...(body && { body }) });

        expect([403, 404, 405]).toContain(answer.status);
        expect(upstream()).toBe(before);
      }),
      { numRuns: 300 },
    );
  });

  it('never reads outside its own names in its own zone', async () => {
    await fc.assert(
      fc.asyncProperty(zone(), name, async (asked, of) => {
        const answer = await gateway.call('GET', `/zones/${asked}/rrsets/${of}/A`, { token: token() });

        if (answer.status === 200 && answer.json.rrset !== undefined) {
          expect(isOwn(answer.json.rrset.name, root)).toBe(true);
          expect(answer.json.rrset.zone).toBe(ownZone === ZONE ? gateway.zoneId : gateway.demoZoneId);
        } else if (of !== '') expectError(answer, 404, 'not_found');
      }),
      { numRuns: 200 },
    );
  });

  it('lists only its own zone, and its own sets in it', async () => {
    const zones = await gateway.call('GET', '/zones', { token: token() });
    const sets = await gateway.call('GET', `/zones/${ownZone}/rrsets`, { token: token() });

    expect(zones.json.zones.map((one: { name: string }) => one.name)).toEqual([ownZone]);
    expect(sets.json.rrsets.map((one: { name: string; zone: number }) => [one.name, one.zone])).toEqual([
      ['www.acme', ownZone === ZONE ? gateway.zoneId : gateway.demoZoneId],
    ]);
    const foreign = ownZone === ZONE ? DEMO_ZONE : ZONE;
    for (const path of [`/zones/${foreign}`, `/zones/${foreign}/rrsets`, `/zones/${ownZoneId(foreign)}`]) {
      expectError(await gateway.call('GET', path, { token: token() }), 404, 'not_found');
    }
    expect((await gateway.call('GET', `/zones?name=${foreign}`, { token: token() })).json.zones).toEqual([]);
  });
});

describe('the actions of writes', () => {
  const actionOf = async (token: string, inZone: string, of: string): Promise<number> => {
    const body = { ttl: 600 };
    const path = `/zones/${inZone}/rrsets/${of}/A/actions/change_ttl`;
    const answer = await gateway.call('POST', path, { token, body });
    expect(answer.status).toBe(201);
    return answer.json.action.id;
  };

  it('are visible to their owner only, not to its team or demos', async () => {
    const ofDemo = await actionOf(own.token, DEMO_ZONE, 'www.acme');
    const ofTeam = await actionOf(teamToken, ZONE, 'www.acme');
    const see = async (token: string): Promise<number[]> => {
      const { json } = await gateway.call('GET', `/actions?id=${ofDemo}&id=${ofTeam}`, { token });
      return json.actions.map((action: { id: number }) => action.id);
    };

    expect(await see(own.token)).toEqual([ofDemo]);
    expect(await see(teamToken)).toEqual([ofTeam]);
    expect(await see(other.token)).toEqual([]);
    const foreign: Answer = await gateway.call('GET', `/actions/${ofDemo}`, { token: teamToken });
    expectError(foreign, 404, 'not_found');
  });
});

function ownZoneId(of: string): string {
  return String(of === ZONE ? gateway.zoneId : gateway.demoZoneId);
}
