import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { resolve } from '../src/name-server/resolve.js';
import { aZone, onlyZone } from './a-zone.js';

const zone = aZone({
  'www A': ['192.0.2.1'],
  'www TXT': ['"w"'],
  'deep.ent A': ['192.0.2.2'],
  '* TXT': ['"any"'],
  '* MX': ['10 mail'],
  '*.dev A': ['192.0.2.3'],
  'host.dev A': ['192.0.2.4'],
  'x.*.ast A': ['192.0.2.5'],
  'alias CNAME': ['www'],
  'chain CNAME': ['alias.example.net.'],
  'dangling CNAME': ['gone.deep.ent'],
  'nodata CNAME': ['ent'],
  'out CNAME': ['www.example.org.'],
  'loop1 CNAME': ['loop2'],
  'loop2 CNAME': ['loop1'],
  'wild.cname CNAME': ['anything.dev'],
  'apex CNAME': ['@'],
});

/** `code flags owner/TYPE… | authority…`: the answer in one line. */
function ask(question: string): string {
  const [name = '', type = ''] = question.split(' ');
  const { rcode, authoritative, answers, authorities } = resolve({ name, type }, onlyZone(zone));
  const sets = [...answers.map(({ owner, rrset }) => `${owner}/${rrset.type}`)];
  const authority = authorities.map(({ owner, rrset }) => `${owner}/${rrset.type}`);
  return [rcode, ...(authoritative ? ['aa'] : []), ...sets, ...(authority.length > 0 ? ['|', ...authority] : [])].join(
    ' ',
  );
}

const noData = 'NOERROR aa | example.net/SOA';
const noName = 'NXDOMAIN aa | example.net/SOA';

describe('resolution', () => {
  it.each([
    ['www.example.net A', 'NOERROR aa www.example.net/A'],
    ['WwW.Example.NET A', 'NOERROR aa WwW.Example.NET/A'],
    ['example.net SOA', 'NOERROR aa example.net/SOA'],
    ['example.net NS', 'NOERROR aa example.net/NS'],
    ['example.net A', noData],
    ['www.example.net AAAA', noData],
  ])('of a name with rrsets: %s', (question, answer) => {
    expect(ask(question)).toBe(answer);
  });

  it.each([
    ['example.org A', 'REFUSED'],
    ['net A', 'REFUSED'],
    ['notexample.net A', 'REFUSED'],
    ['. NS', 'REFUSED'],
  ])('outside the zones is refused: %s', (question, answer) => {
    expect(ask(question)).toBe(answer);
  });

  it.each([
    ['ent.example.net TXT', noData, 'an empty non-terminal exists'],
    ['other.example.net TXT', 'NOERROR aa other.example.net/TXT', 'a wildcard stands in'],
    ['a.b.c.example.net TXT', 'NOERROR aa a.b.c.example.net/TXT', 'at any depth'],
    ['other.example.net A', noData, 'for the types that it has'],
    ['below.www.example.net TXT', noName, 'but not below an existing name'],
    ['other.ent.example.net TXT', noName, 'nor below an empty non-terminal'],
    ['x.dev.example.net A', 'NOERROR aa x.dev.example.net/A', 'the closest one counts'],
    ['x.dev.example.net TXT', noData, 'and hides those above'],
    ['x.host.dev.example.net A', noName, 'an existing sibling shields what is below it'],
    ['dev.example.net A', noData, 'it is not for its own parent'],
    ['*.example.net TXT', 'NOERROR aa *.example.net/TXT', 'it can be asked for itself'],
    ['foo.ast.example.net A', noData, 'one without sets still stands in'],
  ])('of %s gives %s: %s', (question, answer) => {
    expect(ask(question)).toBe(answer);
  });

  it.each([
    ['alias.example.net A', 'NOERROR aa alias.example.net/CNAME www.example.net/A'],
    ['alias.example.net CNAME', 'NOERROR aa alias.example.net/CNAME'],
    ['chain.example.net TXT', 'NOERROR aa chain.example.net/CNAME alias.example.net/CNAME www.example.net/TXT'],
    ['apex.example.net NS', 'NOERROR aa apex.example.net/CNAME example.net/NS'],
    ['wild.cname.example.net A', 'NOERROR aa wild.cname.example.net/CNAME anything.dev.example.net/A'],
    ['nodata.example.net A', 'NOERROR aa nodata.example.net/CNAME | example.net/SOA'],
    ['dangling.example.net A', 'NXDOMAIN aa dangling.example.net/CNAME | example.net/SOA'],
    ['out.example.net A', 'NOERROR aa out.example.net/CNAME'],
    ['loop1.example.net A', 'NOERROR aa loop1.example.net/CNAME loop2.example.net/CNAME'],
  ])('follows aliases inside the zone: %s', (question, answer) => {
    expect(ask(question)).toBe(answer);
  });

  it('uses the TTL of the zone where an rrset has none, and the SOA minimum for negative answers', () => {
    const positive = resolve({ name: 'www.example.net', type: 'A' }, onlyZone(zone));
    const negative = resolve({ name: 'x.www.example.net', type: 'A' }, onlyZone(zone));

    expect([positive.answers[0]?.ttl, negative.authorities[0]?.ttl]).toEqual([3600, 300]);
  });
});

/** RFC 4592 over a list of owner names: the one that answers for a name, if any. */
function answeringOwner(owners: readonly string[], name: string): string | 'empty' | null {
  const exists = (at: string) => at === '' || owners.some((owner) => owner === at || owner.endsWith(`.${at}`));
  if (owners.includes(name)) return name;
  if (exists(name)) return 'empty';
  const labels = name.split('.');
  let cut = 1;
  while (!exists(labels.slice(cut).join('.'))) cut += 1;
  const wildcard = ['*', ...labels.slice(cut)].join('.');
  if (owners.includes(wildcard)) return wildcard;
  return exists(wildcard) ? 'empty' : null;
}

describe('wildcards', () => {
  const label = fc.constantFrom('a', 'b', '*');
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));

  it('match exactly the names that RFC 4592 states', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 8 }), name, (owners, asked) => {
        const zoneOfOwners = aZone(Object.fromEntries(owners.map((owner) => [`${owner} TXT`, [`"${owner}"`]])));

        const found = resolve({ name: `${asked}.example.net`, type: 'TXT' }, onlyZone(zoneOfOwners));

        const expected = answeringOwner(owners, asked);
        const answer = found.answers[0]?.rrset.name ?? (found.rcode === 'NXDOMAIN' ? null : 'empty');
        expect(answer).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });
});
