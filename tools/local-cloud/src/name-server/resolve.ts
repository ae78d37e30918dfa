import type { Rrset } from '../dns/model.js';
import { parentName } from '../dns/names.js';
import type { RrsetTable } from '../dns/rrset-table.js';

/**
 * Expands a host name in a record value: a name without the final dot is relative to the zone, `@` is the zone itself.
 *
 * @returns the full name without the final dot; `.` for the root
 */
export function absoluteName(name: string, zoneName: string): string {
  if (name === '@') return zoneName;
  if (name === '.') return '.';
  return name.endsWith('.') ? name.slice(0, -1) : `${name}.${zoneName}`;
}

export interface ServedZone {
  /** Without the final dot. */
  readonly name: string;
  /** TTL in seconds of sets without their own TTL. */
  readonly ttl: number;
  readonly table: Pick<RrsetTable, 'at' | 'get' | 'exists'>;
}

/** A set with the name that it answers for. The name differs from the set's own name for a wildcard. */
export interface ServedRrset {
  /** Fully qualified, without the final dot. */
  readonly owner: string;
  readonly ttl: number;
  readonly rrset: Rrset;
  /** Relative targets in values refer to this zone. */
  readonly zoneName: string;
}

interface Resolution {
  readonly rcode: 'NOERROR' | 'NXDOMAIN' | 'REFUSED';
  readonly authoritative: boolean;
  readonly answers: readonly ServedRrset[];
  /** The SOA of a negative answer, or the name servers of a delegation. */
  readonly authorities: readonly ServedRrset[];
}

/** Maximum length of a CNAME chain. Longer chains are a mistake in the zone. */
const CHAIN_MAX = 16;

const refused: Resolution = { rcode: 'REFUSED', authoritative: false, answers: [], authorities: [] };

/**
 * Answers one question from the zones, following CNAMEs while they stay in the zone.
 *
 * @param question the name without the final dot, in any case; `ANY` matches every type
 * @param findZone finds a zone by its name in lower case
 * @see RFC 1034 section 4.3.2, RFC 4592 (wildcards), RFC 6604 (the code after a chain of CNAMEs)
 */
export function resolve(
  question: { name: string; type: string },
  findZone: (name: string) => ServedZone | null,
): Resolution {
  const zone = zoneOf(question.name.toLowerCase(), findZone);
  if (zone === null) return refused;
  const answers: ServedRrset[] = [];
  const seen = new Set<string>();
  for (let owner = question.name; ; ) {
    const name = relativeName(owner.toLowerCase(), zone.name);
    const cut = findCut(zone, name, question.type);
    if (cut !== null) {
      return { rcode: 'NOERROR', authoritative: answers.length > 0, answers, authorities: [serve(zone, cut)] };
    }
    const types = findTypes(zone, name);
    if (types === null || types === 'no data') {
      const rcode = types === null ? 'NXDOMAIN' : 'NOERROR';
      return { rcode, authoritative: true, answers, authorities: negative(zone) };
    }
    const found =
      question.type === 'ANY' ? [...types.values()] : [types.get(question.type)].filter((set) => set != null);
    answers.push(...found.map((rrset) => serve(zone, rrset, owner)));
    if (found.length > 0) return { rcode: 'NOERROR', authoritative: true, answers, authorities: [] };
    const alias = types.get('CNAME');
    if (alias === undefined) return { rcode: 'NOERROR', authoritative: true, answers, authorities: negative(zone) };
    answers.push(serve(zone, alias, owner));
    seen.add(name);
    owner = absoluteName(alias.records[0]?.value ?? '.', zone.name);
    const target = owner.toLowerCase();
    if (!isWithin(target, zone.name) || seen.has(relativeName(target, zone.name)) || seen.size >= CHAIN_MAX) {
      return { rcode: 'NOERROR', authoritative: true, answers, authorities: [] };
    }
  }
}

/** The sets that answer for a name, from the name itself or a wildcard; null if the name does not exist. */
function findTypes({ table }: ServedZone, name: string): ReadonlyMap<string, Rrset> | 'no data' | null {
  const own = table.at(name);
  if (own !== null) return own;
  if (table.exists(name)) return 'no data';
  const wildcard = wildcardFor(closestEncloser(table, name));
  return table.at(wildcard) ?? (table.exists(wildcard) ? 'no data' : null);
}

/** The closest existing ancestor. Only a wildcard directly below it applies (RFC 4592 section 3.3.1). */
function closestEncloser(table: ServedZone['table'], name: string): string {
  let encloser = parentName(name) ?? '@';
  while (!table.exists(encloser)) encloser = parentName(encloser) ?? '@';
  return encloser;
}

const wildcardFor = (encloser: string): string => (encloser === '@' ? '*' : `*.${encloser}`);

/** The NS set that delegates the name, if any. This server does not answer for names from there down. */
function findCut({ table }: ServedZone, name: string, type: string): Rrset | null {
  let cut: Rrset | null = null;
  for (let at: string = name; at !== '@'; at = parentName(at) ?? '@') {
    const belongsAbove = at === name && type === 'DS';
    if (!belongsAbove) cut = table.get(at, 'NS') ?? cut;
  }
  return cut;
}

function negative(zone: ServedZone): ServedRrset[] {
  const soa = zone.table.get('@', 'SOA');
  if (soa === null) return [];
  const served = serve(zone, soa);
  const minimum = Number(soa.records[0]?.value.split(' ').at(-1));
  return [{ ...served, ttl: Math.min(served.ttl, minimum) }];
}

function serve(zone: ServedZone, rrset: Rrset, owner = absoluteName(rrset.name, zone.name)): ServedRrset {
  return { owner, ttl: rrset.ttl ?? zone.ttl, rrset, zoneName: zone.name };
}

function zoneOf(name: string, findZone: (name: string) => ServedZone | null): ServedZone | null {
  for (let rest = name; ; ) {
    const zone = findZone(rest);
    if (zone !== null) return zone;
    const dot = rest.indexOf('.');
    if (dot < 0) return null;
    rest = rest.slice(dot + 1);
  }
}

const isWithin = (name: string, zoneName: string): boolean => name === zoneName || name.endsWith(`.${zoneName}`);

const relativeName = (name: string, zoneName: string): string =>
  name === zoneName ? '@' : name.slice(0, -zoneName.length - 1);
