import { sendRaw } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal } from './support/expect-refusal.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  gateway.cloud.admin.putRrset(ZONE, 'globex', 'A', { records: [{ value: '192.0.2.9' }] });
  await gateway.syncZone();
});
afterAll(() => gateway.close());

const records = [{ value: '192.0.2.1' }];
/** A name below acme of this length with the zone, in labels of at most 63 characters. */
const long = (full: number) => {
  const label = 'a'.repeat(63);
  return [label, label, label, 'a'.repeat(full - ZONE.length - 3 * 64 - '..acme'.length), 'acme'].join('.');
};

/** Names that no team may write, as text. */
const badNames: [string, string][] = [
  ['the apex', '@'],
  ['the apex as the zone name', ZONE],
  ['the name of another team', 'globex'],
  ['a name below that of another team', 'acme.globex'],
  ['the wildcard of the zone', '*'],
  ['the challenge of the zone itself', '_acme-challenge'],
  ['a name that ends with the team’s label', 'xacme'],
  ['a space', 'a b.acme'],
  ['a trailing space', 'api.acme '],
  ['letters beyond ASCII', 'münchen.acme'],
  ['an emoji', '😀.acme'],
  ['full-width letters', 'ａｃｍｅ'],
  ['double dots', 'a..acme'],
  ['a leading dot', '.acme'],
  ['a trailing dot', 'acme.'],
  ['one dot', '.'],
  ['two dots', '..'],
  ['a label of 64 characters', `${'a'.repeat(64)}.acme`],
  ['254 characters', long(254)],
  ['10,000 characters', `${'a.'.repeat(5_000)}acme`],
  ['a wildcard inside', 'a.*.acme'],
  ['a wildcard in a label', 'a*.acme'],
  ['two wildcards', '*.*.acme'],
  ['upper case', 'API.acme'],
  ['the full name', `api.acme.${ZONE}`],
  ['a slash', 'api/acme'],
  ['a path traversal', '../globex'],
  ['a NUL', 'api\0.acme'],
  ['a line feed', 'api\n.acme'],
  ['an encoded letter', '%61pi.acme'],
];

describe('a write', () => {
  it.each([...badNames, ['an empty name', ''], ['half a surrogate pair', '\ud800.acme']])(
    'with %s as the name in its body is forbidden',
    async (_what, name) => {
      const send = () => gateway.call('POST', `/zones/${ZONE}/rrsets`, { body: { name, type: 'A', records } });

      const answer = await expectRefusal(gateway, send, 403, 'forbidden');

      expect(answer.json.error.details).toBeNull();
    },
  );

  it.each(badNames)('with %s as the name in its path is forbidden for any method', async (_what, name) => {
    const path = `/v1/zones/${ZONE}/rrsets/${encodeURIComponent(name)}/A`.replace('/../', '/%2e%2e/');
    const bodies = {
      set_records: { records },
      add_records: { records },
      remove_records: { records },
      change_ttl: { ttl: 60 },
    };
    const raw = (method: string, at: string, body?: object) => () =>
      sendRaw(gateway.url, {
        method,
        path: at,
        token: gateway.acme.token,
        headers: [['Content-Type', 'application/json']],
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });

    await expectRefusal(gateway, raw('DELETE', path), 403, 'forbidden');
    await expectRefusal(gateway, raw('PUT', path, {}), 403, 'forbidden');
    for (const [action, body] of Object.entries(bodies)) {
      await expectRefusal(gateway, raw('POST', `${path}/actions/${action}`, body), 403, 'forbidden');
    }
    await expectRefusal(gateway, raw('GET', path), 404, 'not_found');
  });

  it.each(['NS', 'SOA', 'MX', 'CAA', 'SRV', 'ANY', 'a', 'Txt', 'cname', '', ' A', 'A\0', 'A/TXT', 'NOSUCH'])(
    'of the type %j is forbidden',
    async (type) => {
      const body = { name: 'api.acme', type, records };

      await expectRefusal(gateway, () => gateway.call('POST', `/zones/${ZONE}/rrsets`, { body }), 403, 'forbidden');
      if (type === '') return;
      const path = `/zones/${ZONE}/rrsets/api.acme/${encodeURIComponent(type)}`;
      await expectRefusal(gateway, () => gateway.call('DELETE', path), 403, 'forbidden');
      await expectRefusal(gateway, () => gateway.call('GET', path), 404, 'not_found');
    },
  );

  it('accepts the longest possible name', async () => {
    const body = { name: long(253), type: 'A', records };

    const answer = await gateway.call('POST', `/zones/${ZONE}/rrsets`, { body });

    expect([answer.status, answer.json.rrset?.name]).toEqual([201, body.name]);
  });
});

describe('a path', () => {
  it.each([
    // Sent without the normalisation of HTTP clients.
    [`/zones/${ZONE}/rrsets/api.acme%2FA`, 404],
    [`/zones/${ZONE}/rrsets/api.acme%2FA/A`, 404],
    [`/zones/${ZONE}%2Frrsets%2Fglobex%2FA`, 404],
    [`/zones/${ZONE}/rrsets/../../../zones/${ZONE}`, 404],
    [`/zones/${ZONE}/rrsets/acme/../globex/A`, 404],
    [`/zones/${ZONE}/rrsets/..%2Fglobex/A`, 404],
    [`/zones/${ZONE}/rrsets/%2e%2e/A`, 404],
    [`/zones/${ZONE}/rrsets/globex/A`, 404],
    [`/zones/${ZONE}/rrsets/%67lobex/A`, 404],
    [`/zones/${ZONE}/rrsets/%2567lobex/A`, 404],
    [`/zones/${ZONE}/rrsets/api.acme%00/A`, 404],
    [`/zones/${ZONE}/rrsets/%00/A`, 404],
    [`/zones/${ZONE}/rrsets/api.acme/A%00`, 404],
    [`/zones/%00/rrsets`, 404],
    [`/zones/%2e%2e/rrsets`, 404],
    [`/zones/../zones`, 404],
    [`/zones/./${ZONE}`, 404],
    [`/zones/${ZONE}/rrsets/%/A`, 404],
    [`/zones/${ZONE}/rrsets/%zz/A`, 404],
    [`/zones/${ZONE}/rrsets/%ff%fe/A`, 404],
    [`/zones/${ZONE}/rrsets/%ed%a0%80/A`, 404],
    [`/zones/${ZONE}/rrsets/%c0%af/A`, 404],
    [`/zones/${ZONE}/rrsets/${'a'.repeat(8_000)}/A`, 404],
    [`/zones/${ZONE}/rrsets//A`, 404],
    [`/zones//rrsets`, 404],
    [`/zones/${ZONE};x=1/rrsets`, 404],
    [`/zones/${ZONE}/rrsets/api.acme/A/`, 404],
    ['/actions/0', 404],
    ['/actions/-1', 404],
    ['/actions/x', 404],
    ['/actions/1.5', 404],
    ['/actions/01', 404],
    ['/actions/%31%00', 404],
    ['/actions/9007199254740992', 404],
    ['/actions/99999999999999999999999', 404],
    ['/actions?id=', 400],
    ['/actions?id=0', 400],
    ['/actions?id=x', 400],
    ['/actions?id=9007199254740992', 400],
    ['/actions?id=1&id=x', 400],
    ['/actions?id=1%00', 400],
    ['/actions', 400],
    ['/zones/actions?status=done', 400],
    ['/zones/actions?sort=name', 400],
    ['/zones/actions?page=0', 400],
    ['', 404],
    ['/', 404],
    ['/ZONES', 404],
    ['/zone', 404],
    ['/%7Aones', 404],
    ['/servers', 404],
    [`/zones/${ZONE}/zonefile`, 404],
    ['/zones/other.test/actions', 404],
    [`/zones/${ZONE}/actions/create`, 404],
    [`/zones/${ZONE}/rrsets/api.acme`, 404],
    [`/zones/${ZONE}/rrsets/api.acme/A/actions`, 404],
  ])('GET %s is refused with %i', async (path, status) => {
    const send = () => sendRaw(gateway.url, { path: `/v1${path}`, token: gateway.acme.token });

    await expectRefusal(gateway, send, status, status === 404 ? 'not_found' : 'invalid_input');
  });

  it.each([
    '//v1/zones',
    '/v1//zones',
    '///v1///zones',
    '/v1/zones/',
    '/v1/zones//',
    '/v1/zones?',
    '/v1/zones/?page=1',
  ])('GET %s lists zones', async (path) => {
    const answer = await sendRaw(gateway.url, { path, token: gateway.acme.token });

    expect([answer.status, answer.json.zones?.length]).toEqual([200, 1]);
  });

  it('in absolute form, as sent to proxies, is served', async () => {
    const { token } = gateway.acme;

    const answer = await sendRaw(gateway.url, { path: 'http://gateway.test/v1/zones', token });

    expect([answer.status, answer.json.zones?.length]).toEqual([200, 1]);
  });

  it.each([
    'update_records',
    'change_protection',
    'SET_RECORDS',
    'set_records%00',
    'set-records',
    '..',
    'set_records/x',
  ])('with the action %s does not exist', async (action) => {
    const path = `/v1/zones/${ZONE}/rrsets/api.acme/A/actions/${action}`;
    const send = () =>
      sendRaw(gateway.url, { method: 'POST', path, token: gateway.acme.token, body: JSON.stringify({ records }) });

    await expectRefusal(gateway, send, 404, 'not_found');
  });
});
