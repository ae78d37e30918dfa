import type { Rrset } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PlanContext } from './plan.js';
import { originIn, planZoneFile, readZoneFile } from './zone-file-plan.js';

const context: PlanContext = {
  zoneName: 'example.test',
  ownerLabel: 'acme',
  records: { used: 4, reserved: 0, limit: 100 },
};
const aSet = (name: string, type: string, value: string, ttl: number | null = null): Rrset => ({
  id: `${name}/${type}`,
  name,
  type,
  ttl,
  labels: {},
  protection: { change: false },
  records: [{ value, comment: '' }],
  zone: 1,
});
const actual = [
  aSet('acme', 'MX', '10 mx'),
  aSet('www.acme', 'A', '192.0.2.1'),
  aSet('api.acme', 'TXT', '"x"'),
  aSet('db.acme', 'A', '192.0.2.3'),
  aSet('old.acme', 'A', '192.0.2.4'),
];
interface Given {
  readonly origin?: string;
  readonly isPruning?: boolean;
  readonly within?: Partial<PlanContext>;
}
function planOf(text: string, { origin, isPruning = false, within = {} }: Given = {}) {
  const here = { ...context, ...within };
  const read = readZoneFile(text, { zoneTtl: 3_600, context: here, origin });
  const planned = planZoneFile(read, actual, here, isPruning);
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
const keyOfOne = (name: string) => `${name} ${name === 'api.acme' ? 'TXT' : 'A'}`;
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
    ['example.test', '@'],
    ['Example.Test.', '@'],
    ['acme', 'acme'],
    ['eu.acme.example.test', 'eu.acme'],
    ['acme.example.test.', 'acme'],
    ['acme.', null],
    ['example.org.', null],
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
    ['everything only by its number: the file is empty', '', all.map(keyOfOne), true],
    ['nothing if all names are refused', `${line('www.globex')}\n${line('x.globex')}`, [], false],
    ['nothing if all lines are unreadable', 'www.acme A\nnonsense', [], false],
    ['nothing if all names are in another zone', 'www.acme.org. A 192.0.2.1', [], false],
    [
      'nothing while a line may have any name',
      `${all.slice(0, 3).map(line).join('\n')}\n$INCLUDE other.zone`,
      [],
      false,
    ],
    ['nothing while a parenthesis is open', `${line('www.acme')}\nx.acme.example.test. TXT ( "a"`, [], false],
    [
      'no name on a line that is unreadable',
      `${line('www.acme')}\nold.acme.example.test. TXT "x`,
      ['api.acme TXT', 'db.acme A'],
      false,
    ],
    [
      'no name on a line that is refused',
      `${line('www.acme')}\nold.acme.example.test. AAAA nope`,
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
      { numRuns: 500 },
    );
  });
});

describe('a zone file of which nothing is or becomes so', () => {
  it.each([
    ['is empty', ''],
    ['has only comments', '; nothing\n'],
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
