import type { Rrset } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asJson, asTerraform } from '../src/export-formats.js';
import {
  contentOf,
  coverageOf,
  isSame,
  type PlanContext,
  planChanges,
  problemsOf,
  type SetChange,
  type WantedSet,
  wayBack,
} from '../src/plan.js';
import { originIn, planZoneFile, readZoneFile } from '../src/zone-file-plan.js';

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
const addresses = (count: number) => Array.from({ length: count }, (_, n) => `192.0.2.${n}`);
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
    ['more records than a set may have', want('acme', 'A', addresses(51)), /at most 50/],
    ['no record', want('acme', 'A', []), /at least one record/],
    ['a value twice', want('acme', 'A', ['192.0.2.1', '192.0.2.1']), /same value/],
    ['an empty value', want('acme', 'A', ['']), /value is empty/],
    ['a value that is too long', want('acme', 'TXT', ['x'.repeat(4_097)]), /at most 4096 characters/],
    ['a TTL below the shortest', want('acme', 'A', ['192.0.2.1'], 30), /from 60 to 2147483647/],
    ['a value that is no address', want('acme', 'A', ['192.0.2.300']), /"192\.0\.2\.300" is not an IPv4 address/],
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

  it('names every rule that a set breaks, with its part', () => {
    const values = ['192.0.2.1', '192.0.2', '192.0.2.1'];
    const [change] = planChanges(actual, [want('www.globex', 'A', values, 5)], context).refused;

    expect(problemsOf(change as SetChange, coverageOf(context), context.zoneName).map(({ at }) => at)).toEqual([
      'name',
      'ttl',
      1,
      2,
    ]);
  });

  it('says how many records are too many', () => {
    const wanted = Array.from({ length: 9 }, (_, n) => want(`n${n}.acme`, 'A', ['192.0.2.1']));

    expect(planChanges(actual, wanted, context).quotaProblem).toBe(
      '3 of 10 records are used, and this needs 9 more. Remove 2, or ask an operator.',
    );
    const beyond = { ...context, records: { used: 12, reserved: 0, limit: 10 } };
    expect(planChanges(actual, [want('api.acme', 'TXT', ['"y"'])], beyond)).toMatchObject({ quotaProblem: null });
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
      ['www.acme CNAME', expect.stringMatching(/is not a name/)],
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
    const others = fc.tuple(set('A', some(...addresses(4))), set('TXT', some('"1"', '"2"', '"3"', '"4"')));
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

const zoneContext: PlanContext = {
  zoneName: 'example.test',
  ownerLabel: 'acme',
  records: { used: 4, reserved: 0, limit: 100 },
};
const oneRecord = (name: string, type: string, value: string): Rrset => ({ ...aSet(name, type, [value]), labels: {} });
const inZone = [
  oneRecord('acme', 'MX', '10 mx'),
  oneRecord('www.acme', 'A', '192.0.2.1'),
  oneRecord('api.acme', 'TXT', '"x"'),
  oneRecord('db.acme', 'A', '192.0.2.3'),
  oneRecord('old.acme', 'A', '192.0.2.4'),
];
interface Given {
  readonly origin?: string;
  readonly isPruning?: boolean;
  readonly within?: Partial<PlanContext>;
}
function planOf(text: string, { origin, isPruning = false, within = {} }: Given = {}) {
  const here = { ...zoneContext, ...within };
  const read = readZoneFile(text, { zoneTtl: 3_600, context: here, origin });
  const planned = planZoneFile(read, inZone, here, isPruning);
  const changes = planned.plan.waves.flat();
  return {
    ...planned,
    ...read,
    written: changes.flatMap(({ key, to }) => (to === null ? [] : [key])),
    lost: changes.flatMap(({ key, to }) => (to === null ? [key] : [])),
    refused: planned.plan.refused.map(({ key, source, refusal }) => [key, source, refusal]),
    values: changes.flatMap(({ to }) => (to?.records ?? []).map(({ value }) => value)),
  };
}
const all = ['www.acme', 'api.acme', 'db.acme', 'old.acme'];
const line = (name: string) => `${name}.example.test. A 192.0.2.9`;

describe('a zone file of another provider', () => {
  it('is planned as Cloudflare exports it', () => {
    const planned = planOf(
      [
        ';;',
        ';; Domain:     example.test.',
        ';; Exported:   2026-03-01 10:00:00',
        ';;',
        ';; SOA Record',
        'example.test.\t3600\tIN\tSOA\tlola.ns.cloudflare.com. dns.cloudflare.com. 2052 10000 2400 604800 3600',
        ';; NS Records',
        'example.test.\t86400\tIN\tNS\tlola.ns.cloudflare.com.',
        ';; A Records',
        'www.acme.example.test.\t1\tIN\tA\t192.0.2.58 ; cf_tags=cf-proxied:true',
        ';; CNAME Records',
        'blog.acme.example.test.\t1\tIN\tCNAME\thost.example.org. ; the blog cf_tags=cf-proxied:false',
        ';; TXT Records',
        '_dmarc.acme.example.test.\t300\tIN\tTXT\t"v=DMARC1; p=none"',
        ';; MX Records',
        'acme.example.test.\t1\tIN\tMX\t10 mx.example.org.',
        '',
      ].join('\r\n'),
    );

    expect(planned).toMatchObject({
      written: ['www.acme A', 'blog.acme CNAME', '_dmarc.acme TXT'],
      refused: [],
      isVoid: false,
      notes: [
        'SOA and NS of example.test are left out: the zone has its own.',
        'Left out, because the API does not write these types: 1 MX.',
      ],
    });
    expect(planned.plan.waves.flat().map(({ to }) => [to?.ttl, to?.records[0]?.comment])).toEqual([
      [null, null],
      [null, 'the blog'],
      [300, null],
    ]);
    expect(planned.parsed.notes.map(({ message }) => message)).toContain(
      'TTL 1 means automatic: 2 records get the default of the zone.',
    );
  });

  it('is planned as BIND, Hetzner and Route 53 write it', () => {
    const planned = planOf(
      [
        '$ORIGIN acme.example.test.',
        '$TTL 86400',
        '@\tIN\tSOA\thydrogen.ns.hetzner.com. dns.hetzner.com. (',
        '\t\t2026030100 ; serial',
        '\t\t86400 10800 3600000 3600 )',
        '@\tIN\tNS\thydrogen.ns.hetzner.com.',
        '\tIN\tNS\toxygen.ns.hetzner.com.',
        'sub\tIN\tNS\tns.example.org.',
        '@\tIN\tCAA\t0 issue "ca.example"',
        '_sip._tcp 3600 SRV 0 5 5060 sip',
        '\t3600 SRV 1 5 5060 sip2',
        '@ 300 IN A 192.0.2.1',
        '  300 IN A 192.0.2.2',
        'WWW CNAME @',
        'mail._domainkey IN TXT ( "v=DKIM1; k=rsa; "',
        '   "p=AAAA" ) ; DKIM',
        '$ORIGIN eu.acme.example.test.',
        'db AAAA 2001:db8::1',
      ].join('\n'),
    );

    expect(planned).toMatchObject({
      written: ['acme A', 'mail._domainkey.acme TXT', 'db.eu.acme AAAA'],
      refused: [['www.acme CNAME', 'line 14', expect.stringMatching(/^A CNAME stands alone/)]],
      notes: [
        'SOA and NS of acme.example.test are left out: the zone has its own.',
        'Left out, because the API does not write these types: 1 NS, 1 CAA, 2 SRV.',
      ],
    });
    expect(planned.values).toContain('"v=DKIM1; k=rsa; " "p=AAAA"');
  });
});

describe('names of a zone file', () => {
  it.each<[what: string, text: string, written: string[], origin: string | null]>([
    [
      'a zone of its own',
      '@ A 192.0.2.1\nmail._domainkey TXT ( "k" "p" )',
      ['acme A', 'mail._domainkey.acme TXT'],
      'acme.',
    ],
    ['the zone, if one is that of the team', 'acme A 192.0.2.1', ['acme A'], ''],
    ['the zone, if one is below that of the team', 'new.acme A 192.0.2.1', ['new.acme A'], ''],
    ['the zone, if one is full without its final dot', 'w.acme.example.test A 192.0.2.1', [], ''],
    ['what $ORIGIN says', '$ORIGIN eu.acme.example.test.\nw A 192.0.2.1', ['w.eu.acme A'], null],
    ['what is said beside absolute names', 'x.acme.example.test. A 192.0.2.1\nw A 192.0.2.1', ['x.acme A'], null],
  ])('are below %s', (_what, text, written, origin) => {
    const planned = planOf(text);

    expect(planned.written).toEqual(written);
    expect(planned.notes).toEqual(
      origin === null ? [] : [`Names without a final dot are read as names below ${origin}example.test.`],
    );
  });

  it('are below the origin that is given', () => {
    expect(planOf('w.acme A 192.0.2.1', { origin: 'acme' }).written).toEqual(['w.acme.acme A']);
    expect(planOf('w.acme A 192.0.2.1', { origin: '@' }).written).toEqual(['w.acme A']);
    expect(planOf('w A 192.0.2.1', { origin: 'eu.acme' }).written).toEqual(['w.eu.acme A']);
  });

  it.each([
    ['@', '@'],
    ['Example.Test.', '@'],
    ['eu.acme.example.test', 'eu.acme'],
    ['acme.', null],
    ['a b', null],
    ['', null],
  ])('are below an origin as people write it: %s', (text, origin) => {
    expect(originIn(text, 'example.test')).toBe(origin);
  });

  it('of a target follow the same origin', () => {
    expect(planOf('w CNAME web').values).toEqual(['web.acme']);
  });
});

describe('pruning by a zone file', () => {
  it.each<[what: string, text: string, removed: string[], isMost: boolean]>([
    [
      'what the file lacks',
      ['www.acme', 'db.acme', 'api.acme'].map(line).join('\n'),
      ['api.acme TXT', 'old.acme A'],
      false,
    ],
    ['more than half only by its number', line('www.acme'), ['api.acme TXT', 'db.acme A', 'old.acme A'], true],
    ['nothing if all names are refused', `${line('www.globex')}\n${line('x.globex')}`, [], false],
    ['nothing if all lines are unreadable', 'www.acme A\nnonsense', [], false],
    ['nothing while a parenthesis is open', `${line('www.acme')}\nx.acme.example.test. TXT ( "a"`, [], false],
    [
      'no name on a line that is unreadable',
      `${line('www.acme')}\nold.acme.example.test. TXT "x`,
      ['api.acme TXT', 'db.acme A'],
      false,
    ],
    [
      'sets that a CNAME replaces',
      `${['www.acme', 'db.acme'].map(line).join('\n')}\nold.acme.example.test. CNAME x.org.\napi.acme.example.test. TXT "x"`,
      ['old.acme A'],
      false,
    ],
    [
      'sets that a CNAME replaces, though nothing else is written',
      'api.acme.example.test. CNAME x.org.',
      ['api.acme TXT', 'www.acme A', 'db.acme A', 'old.acme A'],
      true,
    ],
    [
      'no set beside a CNAME that is refused',
      `${['www.acme', 'db.acme'].map(line).join('\n')}\nold.acme.example.test. CNAME müll.`,
      ['api.acme TXT'],
      false,
    ],
  ])('removes %s', (_what, text, removed, isMost) => {
    const planned = planOf(text, { isPruning: true });

    expect([planned.lost, planned.removed, planned.removesMost]).toEqual([removed, removed.length, isMost]);
    expect(planOf(text)).toMatchObject({ lost: [], removable: removed.length, removed: 0, removesMost: false });
  });

  it('says why sets stay', () => {
    const unread = `${line('www.acme')}\nold.acme.example.test. TXT "x`;
    expect(planOf(unread, { isPruning: true }).notes).toEqual([
      '1 missing set stays, because its name is on a line that cannot be read.',
    ]);
    expect(planOf('$INCLUDE other.zone', { isPruning: true }).notes).toEqual([
      'Nothing is removed: the lines that cannot be read or written may be about what is missing.',
    ]);
  });

  it('leaves alone what a narrowed token cannot write', () => {
    const text = 'x.api.acme.example.test. TXT "x"';

    expect(planOf(text, { isPruning: true, within: { withinTypes: ['TXT'] } }).lost).toEqual(['api.acme TXT']);
    expect(planOf(text, { isPruning: true, within: { withinName: 'db.acme' } }).lost).toEqual([]);
  });

  it('never removes a set that is in the file, or a name on a line that is not followed', () => {
    const name = fc.constantFrom(...all, 'new.acme', 'www.globex');
    const record = fc.constantFrom(
      'A 192.0.2.1',
      'A 192.0.2.300',
      'TXT "x',
      'TXT "x"',
      'CNAME x.org.',
      'CNAME ü.',
      'MX 10 m',
      'NOPE',
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(name, record), { maxLength: 8 }), (lines) => {
        const text = lines.map(([at, what]) => `${at}.example.test. ${what}`).join('\n');
        const { lost, written, refused, parsed, isVoid } = planOf(text, { isPruning: true });

        const stay = new Set([...refused.map(([key]) => String(key).split(' ')[0]), ...(parsed.unreadNames ?? [])]);
        expect(lost.filter((key) => stay.has(key.split(' ')[0]))).toEqual([]);
        expect(parsed.rrsets.filter((set) => lost.includes(`${set.name} ${set.type}`))).toEqual([]);
        if (isVoid && refused.length + parsed.problems.length > 0) expect([lost, written]).toEqual([[], []]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('a zone file of which nothing is or becomes so', () => {
  it.each([
    ['is empty', ''],
    ['has only types that are not written', 'acme.example.test. MX 10 mx'],
    ['has only names of others', line('www.globex')],
    ['cannot be read', 'nonsense'],
  ])('%s', (_what, text) => {
    expect(planOf(text).isVoid).toBe(true);
  });

  it('does not have a set that is there already', () => {
    expect(planOf('www.acme.example.test. A 192.0.2.1')).toMatchObject({ isVoid: false, plan: { same: 1, waves: [] } });
  });
});

const commented = { records: [{ value: `"a\${b} %{c} \\"d\\""`, comment: 'why' }] };
const exported = [
  aSet('www.acme', 'A', ['192.0.2.7'], 300),
  { ...oneRecord('*.acme', 'TXT', ''), ...commented },
  oneRecord('any.acme', 'TXT', '"x"'),
];
const zone = { name: 'example.test', ttl: 3_600 };

describe('an export of record sets', () => {
  it('is JSON with labels', () => {
    expect(JSON.parse(asJson(exported))[2]).toEqual({
      name: 'www.acme',
      type: 'A',
      ttl: 300,
      labels: { env: 'prod' },
      records: [{ value: '192.0.2.7', comment: '' }],
    });
  });

  it('is Terraform, with distinct identifiers, escaped templates and how to import what exists', () => {
    expect(asTerraform(exported, zone)).toBe(`resource "hcloud_zone_rrset" "any_acme_TXT" {
  zone = "example.test"
  name = "*.acme"
  type = "TXT"
  records = [
    { value = "\\"a$\${b} %%{c} \\\\\\"d\\\\\\"\\"", comment = "why" },
  ]
}
# terraform import hcloud_zone_rrset.any_acme_TXT 'example.test/*.acme/TXT'

resource "hcloud_zone_rrset" "any_acme_TXT_2" {
  zone = "example.test"
  name = "any.acme"
  type = "TXT"
  records = [
    { value = "\\"x\\"" },
  ]
}
# terraform import hcloud_zone_rrset.any_acme_TXT_2 'example.test/any.acme/TXT'

resource "hcloud_zone_rrset" "www_acme_A" {
  zone = "example.test"
  name = "www.acme"
  type = "A"
  ttl  = 300
  labels = {
    "env" = "prod"
  }
  records = [
    { value = "192.0.2.7" },
  ]
}
# terraform import hcloud_zone_rrset.www_acme_A 'example.test/www.acme/A'
`);
  });
});
