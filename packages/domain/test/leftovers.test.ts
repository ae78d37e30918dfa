import type { Rrset } from '@corral/contracts';
import { expect, test } from '@jest/globals';
import { acmeLeftovers } from '../src/leftovers.js';

const now = new Date('2026-11-21T12:00:00Z');
const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000).toISOString();

const aSet = (name: string, type: string, over: Partial<Rrset> = {}) =>
  ({ name, type, ttl: null, labels: {}, protection: { change: false }, records: [], ...over }) as unknown as Rrset;

test.each<[string, Rrset, number | null, boolean]>([
  ['a challenge of yesterday', aSet('_acme-challenge.www.acme', 'TXT'), 25, true],
  ['a challenge of today', aSet('_acme-challenge.www.acme', 'TXT'), 23, false],
  ['the challenge of the zone', aSet('_acme-challenge', 'TXT'), 25, true],
  ['a challenge in capitals', aSet('_ACME-Challenge.acme', 'TXT'), 25, true],
  ['a challenge of an account', aSet('_ujmmovf2._acme-challenge.acme', 'TXT'), 25, true],
  ['a challenge that is delegated', aSet('_acme-challenge.www.acme', 'CNAME'), 999, false],
  ['a name that only begins like one', aSet('_acme-challenges.acme', 'TXT'), 999, false],
  ['a host below one', aSet('www._acme-challenge.acme', 'TXT'), 999, false],
  ['another text', aSet('_dmarc.acme', 'TXT'), 999, false],
  [
    'a challenge that ends by itself',
    aSet('_acme-challenge.acme', 'TXT', { labels: { 'corral/expires': '9d' } }),
    25,
    false,
  ],
  ['a challenge that is protected', aSet('_acme-challenge.acme', 'TXT', { protection: { change: true } }), 25, false],
  ['a challenge of unknown age', aSet('_acme-challenge.acme', 'TXT'), null, false],
])('%s', (_what, rrset, hours, isLeftover) => {
  const changes = hours === null ? [] : [{ name: rrset.name, type: rrset.type, changedAt: hoursAgo(hours) }];

  const found = acmeLeftovers([rrset], changes, now);

  expect(found.map((each) => each.rrset)).toEqual(isLeftover ? [rrset] : []);
});
