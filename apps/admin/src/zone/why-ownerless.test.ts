import { reservedSlugs } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { whyOwnerless } from './why-ownerless.js';

describe('a record set belongs to nobody', () => {
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
  ])('%s, because of: %s', (name, why) => {
    expect(whyOwnerless(name, 'example.org', 'play.example.org')).toBe(why);
  });

  it.each([null, 'demos.example.net'])('and never for a demo zone that lies elsewhere (%s)', (demoZone) => {
    expect(whyOwnerless('play', 'example.org', demoZone)).toBe('no team yet');
  });

  it.each(reservedSlugs)('as all below the reserved %s', (slug) => {
    expect(whyOwnerless(`x.${slug}`, 'example.org', null)).toBe('reserved');
  });
});
