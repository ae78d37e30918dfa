import type { Rrset } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { contentOf, isSame, planChanges, type WantedSet, wayBack } from './plan.js';

const context = { zoneName: 'example.test', ownerLabel: 'acme', records: { used: 3, reserved: 0, limit: 10 } };
const records = (...values: string[]) => values.map((value) => ({ value, comment: null }));
const aSet = (name: string, type: string, values: string[], ttl: number | null = null): Rrset =>
  ({
    id: `${name}/${type}`,
    name,
    type,
    ttl,
    labels: { env: 'prod' },
    protection: { change: false },
    records: values.map((value) => ({ value, comment: '' })),
    zone: 1,
  }) satisfies Rrset;
const want = (name: string, type: string, values: string[] | null, ttl: number | null = null): WantedSet => ({
  name,
  type,
  content: values === null ? null : { records: records(...values), ttl },
});
const actual = [aSet('www.acme', 'A', ['192.0.2.1', '192.0.2.2']), aSet('api.acme', 'TXT', ['"x"'])];
const wavesOf = (wanted: WantedSet[], over = context) =>
  planChanges(actual, wanted, over).waves.map((wave) => wave.map(({ key, to }) => `${to === null ? '-' : '+'}${key}`));

describe('a plan of record sets', () => {
  it('contains what differs, whatever the order of the records is', () => {
    const plan = planChanges(
      actual,
      [
        want('www.acme', 'A', ['192.0.2.2', '192.0.2.1']),
        want('api.acme', 'TXT', ['"y"']),
        want('new.acme', 'A', ['192.0.2.3']),
      ],
      context,
    );

    expect(plan).toMatchObject({ same: 1, refused: [], recordsAfter: 4, quotaProblem: null, warnings: [] });
    expect(plan.waves.flat().map(({ key, from, to }) => [key, from === null, to?.labels])).toEqual([
      ['api.acme TXT', false, { env: 'prod' }],
      ['new.acme A', true, {}],
    ]);
  });

  it.each<[what: string, wanted: WantedSet, refusal: RegExp]>([
    ['the name of another team', want('www.globex', 'A', ['192.0.2.1']), /does not belong to you/],
    ['the zone itself', want('@', 'A', ['192.0.2.1']), /name is not valid/],
    ['a type that is not written', want('acme', 'MX', ['10 mx']), /type cannot be written/],
    [
      'more records than a set may have',
      want(
        'acme',
        'A',
        Array.from({ length: 51 }, (_, n) => `192.0.2.${n}`),
      ),
      /at most 50/,
    ],
    ['no record', want('acme', 'A', []), /at least one record/],
    ['a value twice', want('acme', 'A', ['192.0.2.1', '192.0.2.1']), /same value/],
    ['an empty value', want('acme', 'A', ['']), /value is empty/],
    ['a value that is too long', want('acme', 'TXT', ['x'.repeat(4_097)]), /at most 4096 characters/],
    ['a TTL below the shortest', want('acme', 'A', ['192.0.2.1'], 30), /from 60 to 2147483647/],
    ['a value that is no address', want('acme', 'A', ['192.0.2.300']), /192\.0\.2\.300 is no IPv4 address/],
    ['a target with letters that DNS lacks', want('acme', 'CNAME', ['müll.org.']), /müll\.org\. is no name/],
    ['a text without quotes', want('acme', 'TXT', ['x']), /need double quotes/],
    ['two targets', want('acme', 'CNAME', ['x.org.', 'y.org.']), /A CNAME has one value/],
    [
      'a CNAME beside other sets',
      want('www.acme', 'CNAME', ['x.org.']),
      /^A CNAME stands alone, but www\.acme would have A records too\. Remove one of them\.$/,
    ],
  ])('refuses %s, as the API does', (_what, wanted, refusal) => {
    const plan = planChanges(actual, [wanted], context);

    expect(plan.waves).toEqual([]);
    expect(plan.refused.map((change) => change.refusal)).toEqual([expect.stringMatching(refusal)]);
  });

  it('says how many records are too many', () => {
    const wanted = Array.from({ length: 9 }, (_, n) => want(`n${n}.acme`, 'A', ['192.0.2.1']));

    expect(planChanges(actual, wanted, context).quotaProblem).toBe(
      '3 of 10 records are used, and this needs 9 more. Remove 2, or ask an operator.',
    );
    expect(
      planChanges(actual, [want('api.acme', 'TXT', ['"y"'])], {
        ...context,
        records: { used: 12, reserved: 0, limit: 10 },
      }),
    ).toMatchObject({ quotaProblem: null });
  });

  it('removes first what a CNAME replaces, and last what nothing waits for', () => {
    expect(
      wavesOf([want('www.acme', 'A', null), want('api.acme', 'TXT', null), want('api.acme', 'CNAME', ['www.acme'])]),
    ).toEqual([['-api.acme TXT'], ['+api.acme CNAME'], ['-www.acme A']]);
  });

  it('removes first when the quota needs the room', () => {
    const wanted = [want('new.acme', 'A', ['192.0.2.1']), want('www.acme', 'A', null)];

    expect(wavesOf(wanted)).toEqual([['+new.acme A'], ['-www.acme A']]);
    expect(wavesOf(wanted, { ...context, records: { used: 3, reserved: 0, limit: 3 } })).toEqual([
      ['-www.acme A'],
      ['+new.acme A'],
    ]);
  });

  it('refuses both of a CNAME and another set that are new at one name', () => {
    const plan = planChanges(
      actual,
      [want('new.acme', 'CNAME', ['x.org.']), want('new.acme', 'A', ['192.0.2.1'])],
      context,
    );

    expect([plan.waves, plan.refused.map(({ type }) => type)]).toEqual([[], ['CNAME', 'A']]);
  });

  it('checks only what a change brings: values and TTLs that a set has already stay possible', () => {
    const odd = [aSet('odd.acme', 'TXT', ['as it was'], 30)];
    const plan = planChanges(odd, [want('odd.acme', 'TXT', ['as it was', '"new"'], 30)], context);

    expect([plan.waves.length, plan.refused]).toEqual([1, []]);
  });

  it('removes nothing at a name where it would lose more than was asked for', () => {
    const wanted = [
      want('www.acme', 'A', null),
      want('www.acme', 'CNAME', ['müll.org.']),
      want('api.acme', 'TXT', null),
    ];
    const plan = planChanges(actual, wanted, context);

    expect(plan.waves.flat().map(({ key }) => key)).toEqual(['api.acme TXT']);
    expect(plan.refused.map(({ key, refusal }) => [key, refusal])).toEqual([
      ['www.acme A', 'It stays, because www.acme CNAME is refused.'],
      ['www.acme CNAME', expect.stringMatching(/is no name/)],
    ]);
  });

  it('removes a set beside another one that cannot be removed', () => {
    const both = [...actual, aSet('www.acme', 'MX', ['10 mx'])];
    const plan = planChanges(both, [want('www.acme', 'MX', null), want('www.acme', 'A', null)], context);

    expect([plan.waves.flat().map(({ key }) => key), plan.refused.map(({ key }) => key)]).toEqual([
      ['www.acme A'],
      ['www.acme MX'],
    ]);
  });

  it('writes what needs no room before anything is removed', () => {
    const wanted = [
      want('api.acme', 'TXT', null),
      want('api.acme', 'CNAME', ['www.acme']),
      want('www.acme', 'A', null),
      want('one.acme', 'A', ['192.0.2.1']),
    ];

    expect(wavesOf(wanted)).toEqual([['+one.acme A'], ['-api.acme TXT'], ['+api.acme CNAME'], ['-www.acme A']]);
    const two = [...wanted, want('two.acme', 'A', ['192.0.2.1'])];
    expect(wavesOf(two, { ...context, records: { used: 3, reserved: 0, limit: 4 } })).toEqual([
      ['+one.acme A'],
      ['-api.acme TXT', '-www.acme A'],
      ['+api.acme CNAME', '+two.acme A'],
    ]);
  });

  it('keeps what somebody else changed meanwhile, and warns where both changed the same', () => {
    const seen = { records: records('192.0.2.1'), ttl: null, labels: { env: 'prod' } };
    const typed = { name: 'www.acme', type: 'A', seen, content: { ...seen, ttl: 60 } };

    const plan = planChanges(actual, [typed], context);
    expect(plan.waves.flat()[0]?.to).toEqual({
      records: records('192.0.2.1', '192.0.2.2'),
      ttl: 60,
      labels: { env: 'prod' },
    });
    expect(plan.warnings).toEqual([]);

    const both = planChanges(actual, [{ ...typed, content: { ...seen, records: records('192.0.2.9') } }], context);
    expect(both.waves.flat()[0]?.to?.records).toEqual(records('192.0.2.9'));
    expect(both.warnings).toEqual(['www.acme A was changed after you began, and this replaces that change.']);
    expect(planChanges(actual, [{ ...typed, content: null }], context).warnings).toHaveLength(1);
  });

  it('leads from any sets to any others, and back', () => {
    const ttl = fc.option(fc.constantFrom(60, 300));
    const some = (...values: string[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 4 });
    const set = (type: string, values: fc.Arbitrary<string[]>) =>
      fc.option(fc.record({ type: fc.constant(type), values, ttl }));
    const addresses = some('192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4');
    const others = fc.tuple(set('A', addresses), set('TXT', some('"1"', '"2"', '"3"', '"4"')));
    const alone = fc.tuple(
      set(
        'CNAME',
        some('@', 'x.org.').map((targets) => targets.slice(0, 1)),
      ),
    );
    const namesOf = fc.tuple(
      ...['acme', 'a.acme', 'b.acme'].map((name) =>
        fc.oneof(others, alone).map((here) => here.flatMap((each) => (each === null ? [] : [{ name, ...each }]))),
      ),
    );
    const sets = namesOf.map((each) => each.flat());
    fc.assert(
      fc.property(sets, sets, (before, after) => {
        const zone = before.map((each) => aSet(each.name, each.type, each.values, each.ttl));
        const gone = before.filter((one) => !after.some((other) => other.name === one.name && other.type === one.type));
        const wanted = [
          ...after.map((each) => want(each.name, each.type, each.values, each.ttl)),
          ...gone.map((each) => want(each.name, each.type, null)),
        ];
        const plan = planChanges(zone, wanted, { ...context, records: { used: 0, reserved: 0, limit: 1_000 } });
        const world = new Map(zone.map((rrset) => [`${rrset.name} ${rrset.type}`, contentOf(rrset)]));
        const original = new Map(world);
        for (const { key, to } of plan.waves.flat()) to === null ? world.delete(key) : world.set(key, to);

        expect([...world.keys()].sort()).toEqual(after.map((each) => `${each.name} ${each.type}`).sort());
        for (const { name: at, type: as, content } of wayBack(plan.waves.flat())) {
          const key = `${at} ${as}`;
          content === null ? world.delete(key) : world.set(key, { labels: {}, ...content });
        }
        expect([...world.keys()].sort()).toEqual([...original.keys()].sort());
        for (const [key, content] of original) expect(isSame(world.get(key) ?? null, content)).toBe(true);
      }),
    );
  });
});
