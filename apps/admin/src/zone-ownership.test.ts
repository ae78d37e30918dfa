import { reservedSlugs } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { whyOwnerless } from './zone-ownership.js';

describe('whyOwnerless', () => {
  it.each([
    ['@', 'apex'],
    ['play', 'demo zone'],
    ['ns.play', 'demo zone'],
    ['mail', 'reserved'],
    ['a.b.www', 'reserved'],
    ['_dmarc', 'no team name'],
    ['_25._tcp.mx', 'reserved'],
    ['selector._domainkey', 'no team name'],
    ['*', 'no team name'],
    ['Shop', 'no team name'],
    ['shop', 'no team yet'],
    ['*.www.shop', 'no team yet'],
    ['display', 'no team yet'],
  ])('classifies %s as: %s', (name, why) => {
    expect(whyOwnerless(name, 'example.org', 'play.example.org')).toBe(why);
  });

  it.each([null, 'demos.example.net'])('ignores a demo zone outside the zone (%s)', (demoZone) => {
    expect(whyOwnerless('play', 'example.org', demoZone)).toBe('no team yet');
  });

  it.each(reservedSlugs)('classifies names below the reserved %s', (slug) => {
    expect(whyOwnerless(`x.${slug}`, 'example.org', null)).toBe('reserved');
  });
});
