import { type ClusterSpec, type NodePoolSpec, weekdayNames } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { costDifferenceOf, costOf, savedPerHourOf } from './cost.js';
import { aClusterSpec, aPool, aPriceList } from './testing.js';

const prices = aPriceList();
const ofPools = (...pools: Partial<NodePoolSpec>[]): ClusterSpec =>
  aClusterSpec({ nodePools: pools.map((pool, index) => aPool({ name: `p${index}`, ...pool })) });
const unknown = { minimum: null, maximum: null };

describe('the cost of a cluster', () => {
  it.each<[string, Partial<NodePoolSpec>[], [string, string], [string, string]]>([
    // 0.021 + 0.0008 per hour. A month by the hour would be 730 × 0.021 = 15.33, so the caps apply: 13.1 + 0.5
    ['of one to three nodes', [{ minimum: 1, maximum: 3 }], ['0.0218', '0.0654'], ['13.6', '40.8']],
    [
      'of a pool with a minimum of zero counts one node, which the garden keeps',
      [{ minimum: 0 }],
      ['0.0218', '0.0654'],
      ['13.6', '40.8'],
    ],
    ['of a pool with a maximum of zero is zero', [{ minimum: 0, maximum: 0 }], ['0', '0'], ['0', '0']],
    // 730 × 0.02 = 14.6 is below the cap of 100. The address has reached its own cap
    [
      'by the hour when a month costs less than the cap',
      [{ machineType: 'nocap', maximum: 1 }],
      ['0.0208', '0.0208'],
      ['15.1', '15.1'],
    ],
    [
      'at the cap when a month by the hour would cost more',
      [{ machineType: 'cap', maximum: 1 }],
      ['0.0208', '0.0208'],
      ['10.5', '10.5'],
    ],
    // 2 × 0.0218 + 1..4 × 0.0887 and 2 × 13.6 + 1..4 × 55.4
    [
      'of several pools is their sum',
      [
        { minimum: 2, maximum: 2 },
        { machineType: 'cpx51', minimum: 1, maximum: 4 },
      ],
      ['0.1323', '0.3984'],
      ['82.6', '248.8'],
    ],
    [
      'of nodes without a public address is the price of their servers',
      [{ publicIP: false, maximum: 1 }],
      ['0.021', '0.021'],
      ['13.1', '13.1'],
    ],
    [
      'of adopted servers is the price of all claimed ones',
      [{ source: 'pooled', minimum: 0, maximum: 2 }],
      ['0.0436', '0.0436'],
      ['27.2', '27.2'],
    ],
    ['of no pools is zero', [], ['0', '0'], ['0', '0']],
  ])('%s', (_what, pools, hourly, monthly) => {
    expect(costOf(ofPools(...pools), prices)).toMatchObject({
      currency: 'EUR',
      hourly: { minimum: hourly[0], maximum: hourly[1] },
      monthly: { minimum: monthly[0], maximum: monthly[1] },
      pricedAt: '2026-11-20T04:00:00.000Z',
    });
  });

  it('of a hibernated cluster is zero for managed pools', () => {
    const cost = costOf({ ...ofPools({}, { name: 'b' }), hibernated: true }, prices);

    expect(cost).toMatchObject({ hourly: { minimum: '0', maximum: '0' }, monthly: { minimum: '0', maximum: '0' } });
    expect(cost.items.map(({ minimum, maximum }) => [minimum, maximum])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it.each(['dedicated', 'onprem'] as const)(
    'of %s machines is unknown, even for a type name in the price list',
    (source) => {
      const { hourly, items } = costOf(ofPools({}, { source, minimum: 1, maximum: 1 }), prices);

      expect(items[1]).toMatchObject({ hourly: unknown, reason: `The price of ${source} machines is unknown.` });
      expect(hourly).toEqual(unknown);
    },
  );

  it.each([
    // A third of the week: 730 / 3 × 0.02, and 0.0008 of it for the address, of which 0.5 is the cap of a month
    ['by the hour while that costs less than a month', 'nocap', { minimum: '5.0613', maximum: '10.1226' }],
    ['awake and asleep alike', 'nocap', { minimum: '5.0613', maximum: '10.1226' }, true],
  ])('of a cluster with a schedule counts managed nodes %s', (_what, machineType, monthly, hibernated = false) => {
    const awake = [{ weekdays: [...weekdayNames], from: '08:00', until: '16:00' }];
    const spec = ofPools({ machineType, minimum: 1, maximum: 2 });
    const hibernationSchedule = { timeZone: 'UTC', awake, exceptions: [] };

    expect(costOf({ ...spec, hibernated, hibernationSchedule }, prices).monthly).toEqual(monthly);
  });

  it.each<[string, string | null, string | null]>([
    ['all of the month, which costs 13.60', null, '13.60'],
    // 13.60 − 730 × 8/24 × 0.0218
    ['with a schedule for the nights, less: hours are billed dearer than months', '16:00', '8.30'],
    ['although its schedule has it always awake', '24:00', '13.60'],
  ])('is saved by sleep %s', (_what, until, saved) => {
    const from = until === '24:00' ? '00:00' : '08:00';
    const awake = until === null ? [] : [{ weekdays: [...weekdayNames], from, until }];
    const asleep = until === '16:00' ? (730 * 2) / 3 : 730;
    const hibernationSchedule = { timeZone: 'UTC', awake, exceptions: [] };
    const pools = ofPools({ minimum: 1, maximum: 2 }, { source: 'pooled', maximum: 2 });
    const spec = until === null ? pools : { ...pools, hibernationSchedule };

    expect(savedPerHourOf(spec, prices)?.times(asleep).toFixed(2)).toBe(saved);
    expect(savedPerHourOf(spec, null)).toBeNull();
  });

  it('of a hibernated cluster is the price of its adopted servers', () => {
    const cost = costOf({ ...ofPools({}, { source: 'pooled', minimum: 0, maximum: 2 }), hibernated: true }, prices);

    expect(cost).toMatchObject({ hourly: { minimum: '0.0436', maximum: '0.0436' } });
    expect(cost.items.map(({ minimum, maximum }) => [minimum, maximum])).toEqual([
      [0, 0],
      [2, 2],
    ]);
  });

  it('is unknown without a price list, with a reason', () => {
    expect(costOf(ofPools({}), null)).toMatchObject({
      currency: null,
      pricedAt: null,
      hourly: unknown,
      monthly: unknown,
      items: [{ hourly: unknown, monthly: unknown, minimum: 1, maximum: 3, reason: 'No price list is available.' }],
    });
  });

  it.each([
    ['a machine type', { machineType: 'ccx13' }, 'hel1', 'The price list has no ccx13 in hel1.'],
    ['a region', {}, 'fsn1', 'The price list has no cpx31 in fsn1.'],
    [
      'the name of an object method',
      { machineType: 'constructor' },
      'hel1',
      'The price list has no constructor in hel1.',
    ],
  ])('is unknown with %s that the list lacks, but keeps the known items', (_what, pool, region, reason) => {
    const { cap } = prices.prices.serverTypes;
    const known = aPriceList({
      serverTypes: { ...prices.prices.serverTypes, cap: { ...cap, fsn1: { hourly: '0.02', monthly: '10' } } },
    });
    const cost = costOf(
      { ...ofPools(pool, { name: 'none', minimum: 0, maximum: 0, machineType: 'cap' }), region },
      known,
    );

    expect(cost).toMatchObject({ currency: 'EUR', hourly: unknown, monthly: unknown });
    expect(cost.items[0]).toMatchObject({ hourly: unknown, monthly: unknown, reason });
    expect(cost.items[1]?.hourly).toEqual({ minimum: '0', maximum: '0' });
  });

  it('is unknown when public addresses have no price', () => {
    expect(costOf(ofPools({}), aPriceList({ primaryIpv4: {} })).items[0]?.reason).toBe(
      'The price list has no public address in hel1.',
    );
  });
});

describe('the cost difference of a change', () => {
  const [small, large] = [costOf(ofPools({ maximum: 2 }), prices), costOf(ofPools({ maximum: 5 }), prices)];
  const range = (minimum: string | null, maximum: string | null) => ({ minimum, maximum });

  it.each([
    ['is positive when the cost rises', small, large, range('0', '0.0654'), range('0', '40.8')],
    ['is negative when the cost falls', large, small, range('0', '-0.0654'), range('0', '-40.8')],
    ['is the whole cost of a new cluster', null, small, range('0.0218', '0.0436'), range('13.6', '27.2')],
    ['is the negative cost of a deleted cluster', small, null, range('-0.0218', '-0.0436'), range('-13.6', '-27.2')],
    ['is zero when nothing changes', small, small, range('0', '0'), range('0', '0')],
    ['is unknown when the cost is unknown', small, costOf(ofPools({}), null), unknown, unknown],
  ])('%s', (_what, before, after, hourly, monthly) => {
    expect(costDifferenceOf(before, after)).toEqual({ hourly, monthly });
  });
});

describe('any cost', () => {
  const decimal = fc
    .tuple(fc.nat(999_999), fc.stringMatching(/^\d{1,20}$/))
    .map(([whole, digits]) => `${whole}.${digits}`);
  const price = fc.record({ hourly: decimal, monthly: decimal });
  const known = fc
    .record({ a: price, b: price, ip: price })
    .map(({ a, b, ip }) => aPriceList({ serverTypes: { a: { hel1: a }, b: { hel1: b } }, primaryIpv4: { hel1: ip } }));
  const pool = fc
    .record({ machineType: fc.constantFrom('a', 'b'), minimum: fc.nat(50), more: fc.nat(50) })
    .map(({ machineType, minimum, more }) => ({ machineType, minimum, maximum: minimum + more }));
  const pools = fc.array(pool, { minLength: 1, maxLength: 5 });
  /** Counts an amount in units of the 21st decimal digit. No amount here has more. */
  const units = (text: string | null | undefined): bigint => {
    expect(text).toMatch(/^\d+(\.\d+)?$/);
    const [whole = '', digits = ''] = (text as string).split('.');
    return BigInt(whole + digits.padEnd(21, '0').slice(0, 21));
  };
  const bounds = ['minimum', 'maximum'] as const;
  const spans = ['hourly', 'monthly'] as const;

  it('is the exact sum of its items', () => {
    fc.assert(
      fc.property(known, pools, (list, declared) => {
        const cost = costOf(ofPools(...declared), list);
        for (const span of spans) {
          for (const bound of bounds) {
            const sum = cost.items.reduce((total, item) => total + units(item[span][bound]), 0n);
            expect(units(cost[span][bound])).toBe(sum);
          }
        }
      }),
    );
  });

  it('is exactly nodes times price', () => {
    fc.assert(
      fc.property(known, pool, (list, declared) => {
        const { hourly } = costOf(ofPools(declared), list);
        const { serverTypes, primaryIpv4 } = list.prices;
        const each = units(serverTypes[declared.machineType]?.hel1?.hourly) + units(primaryIpv4.hel1?.hourly);
        expect(units(hourly.maximum)).toBe(each * BigInt(declared.maximum));
      }),
    );
  });

  it('never falls when a pool grows, and its maximum is never below its minimum', () => {
    fc.assert(
      fc.property(known, pools, fc.nat(4), fc.nat(20), (list, declared, at, more) => {
        const index = at % declared.length;
        const grown = declared.map((each, i) =>
          i === index ? { ...each, minimum: each.minimum + more, maximum: each.maximum + more } : each,
        );
        const [before, after] = [costOf(ofPools(...declared), list), costOf(ofPools(...grown), list)];
        for (const span of spans) {
          for (const bound of bounds) expect(units(after[span][bound]) >= units(before[span][bound])).toBe(true);
          expect(units(before[span].maximum) >= units(before[span].minimum)).toBe(true);
        }
      }),
    );
  });
});
