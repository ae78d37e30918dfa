import { addressesOfRecord, type ChangeEffect, canonicalAddress } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  addressesOfSets,
  danglingSets,
  type KnownAddress,
  lostAddresses,
  type PointingSet,
  readableSets,
  setsPointingTo,
} from '../src/pointing.js';

const zone = 'example.test';
const aSet = (name: string, type: string, ...values: string[]): PointingSet => ({ zone, name, type, values });
const there = (address: string): KnownAddress => ({ address, goneAt: null });
const gone = (address: string, day = 1): KnownAddress => ({ address, goneAt: new Date(Date.UTC(2026, 10, day)) });

describe('an address', () => {
  it.each<[string, string | null]>([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2', null],
    ['192.0.2.256', null],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['::FFFF:c000:201', '::ffff:192.0.2.1'],
    ['2001:db8::/64', '2001:db8::/64'],
    ['2001:db8::9/64', '2001:db8::/64'],
    ['2001:db8::g', null],
    ['LB.Example.COM.', 'lb.example.com'],
    ['not a name', null],
    ['', null],
  ])('%j is compared as %j', (text, address) => {
    expect(canonicalAddress(text)).toBe(address);
  });

  it('is the same however an IPv6 address is written', () => {
    const group = fc.integer({ min: 0, max: 65_535 }).map((value) => value.toString(16));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const address = canonicalAddress(groups.join(':'));
        const long = groups.map((each) => each.toUpperCase().padStart(4, '0')).join(':');

        expect(address).not.toBeNull();
        expect([canonicalAddress(long), canonicalAddress(address ?? '')]).toEqual([address, address]);
      }),
    );
  });
});

describe('a record', () => {
  it.each<[type: string, value: string, addresses: string[]]>([
    ['A', '192.0.2.1', ['192.0.2.1']],
    ['A', '2001:db8::1', []],
    ['AAAA', '2001:DB8::0:9', ['2001:db8::9', '2001:db8::/64']],
    ['AAAA', '192.0.2.1', []],
    ['CNAME', 'LB.example.com.', ['lb.example.com']],
    ['CNAME', 'lb', ['lb.example.test']],
    ['CNAME', '@', ['example.test']],
    ['TXT', '"192.0.2.1"', []],
  ])('%s %s leads to %j', (type, value, addresses) => {
    expect(addressesOfRecord(zone, type, value)).toEqual(addresses);
  });
});

describe('the record sets that lead to addresses', () => {
  const sets = [
    aSet('acme', 'A', '192.0.2.1', '192.0.2.9'),
    aSet('*.web.acme', 'AAAA', '2001:db8::0:1'),
    aSet('www.acme', 'CNAME', 'Lb.example.com.'),
    aSet('srv.acme', 'AAAA', '2001:db8:1::7'),
    aSet('txt.acme', 'TXT', '"192.0.2.1"'),
  ];

  it('are those with an equal value, of the apex and of wildcards, too, and only with these values', () => {
    const addresses = new Set(['192.0.2.1', '2001:db8::1', 'lb.example.com', '2001:db8:1::/64']);

    expect(setsPointingTo(sets, addresses)).toEqual([
      aSet('acme', 'A', '192.0.2.1'),
      aSet('*.web.acme', 'AAAA', '2001:db8::0:1'),
      aSet('www.acme', 'CNAME', 'Lb.example.com.'),
      aSet('srv.acme', 'AAAA', '2001:db8:1::7'),
    ]);
    expect(addressesOfSets(sets)).toEqual(expect.arrayContaining([...addresses]));
  });

  it('are only those of the team, and those at or below the name to which a caller is narrowed', () => {
    const all = [...sets, aSet('www.other', 'A', '192.0.2.1'), aSet('notacme', 'A', '192.0.2.1')];

    expect(readableSets(all, { ownerLabel: 'acme', withinName: null })).toEqual(sets);
    expect(readableSets(all, { ownerLabel: 'acme', withinName: 'web.acme' })).toEqual([sets[1]]);
  });
});

describe('a record set dangles', () => {
  const dangling = (known: KnownAddress[], ...values: string[]) =>
    danglingSets([aSet('www.acme', 'A', ...values)], known).flatMap((each) => each.values.map(({ value }) => value));

  it('with the last that had the address as the reason', () => {
    const [first, last] = [gone('192.0.2.1', 1), gone('192.0.2.1', 3)];
    const [only] = danglingSets([aSet('www.acme', 'A', '192.0.2.1')], [first, last]);

    expect(only?.values[0]?.was).toBe(last);
  });

  it('not if a server has the network of its address', () => {
    const set = aSet('www.acme', 'AAAA', '2001:db8::5');

    expect(danglingSets([set], [gone('2001:db8::5'), there('2001:db8::/64')])).toEqual([]);
    expect(danglingSets([set], [gone('2001:db8::/64')])).toHaveLength(1);
  });

  it('only with values that it has and that are gone', () => {
    const octet = fc.integer({ min: 1, max: 6 }).map((last) => `192.0.2.${last}`);
    const arbitrary = fc.record({
      values: fc.uniqueArray(octet, { minLength: 1 }),
      there: fc.array(octet),
      gone: fc.array(octet),
    });
    fc.assert(
      fc.property(arbitrary, (drawn) => {
        const known = [...drawn.there.map(there), ...drawn.gone.map((address) => gone(address))];
        const expected = drawn.values.filter((value) => drawn.gone.includes(value) && !drawn.there.includes(value));
        expect(dangling(known, ...drawn.values)).toEqual(expected);
      }),
    );
  });
});

describe('the addresses that a change takes from a cluster', () => {
  const addresses = [
    { ...there('192.0.2.1'), pool: 'general' },
    { ...there('192.0.2.2'), pool: 'batch' },
    { ...there('192.0.2.3'), pool: null },
    { ...gone('192.0.2.4'), pool: 'batch' },
  ];
  const of = (target: 'cluster' | 'nodePool', kind: string, pool?: string) =>
    ({ target, kind, pool, fields: [], reason: '' }) as unknown as ChangeEffect;

  it.each<[string, ChangeEffect[], string[]]>([
    ['all, when it is deleted', [of('cluster', 'deleted')], ['192.0.2.1', '192.0.2.2', '192.0.2.3']],
    ['all, when it hibernates', [of('cluster', 'hibernated')], ['192.0.2.1', '192.0.2.2', '192.0.2.3']],
    ['those of a removed pool', [of('nodePool', 'kept', 'general'), of('nodePool', 'removed', 'batch')], ['192.0.2.2']],
    ['those of a pool with new nodes', [of('nodePool', 'replaced', 'general')], ['192.0.2.1']],
    ['none, when nodes stay', [of('cluster', 'updated'), of('nodePool', 'scaled', 'general')], []],
  ])('are %s', (_what, effects, lost) => {
    expect(lostAddresses(effects, addresses).map(({ address }) => address)).toEqual(lost);
  });
});
