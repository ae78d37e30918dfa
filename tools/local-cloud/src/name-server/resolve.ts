import { parentName, type Rrset } from '../dns/model.js';
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
  readonly answers: readonly ServedRrset[];
  /** The SOA of a negative answer. */
  readonly authorities: readonly ServedRrset[];
}

/**
 * Answers one question from the zones, following CNAMEs while they stay in the zone. Zones have no delegations.
 *
 * @param question the name without the final dot, in any case
 * @param findZone finds a zone by its name in lower case
 * @see RFC 1034 section 4.3.2, RFC 4592 (wildcards), RFC 6604 (the code after a chain of CNAMEs)
 */
export function resolve(
  question: { name: string; type: string },
  findZone: (name: string) => ServedZone | null,
): Resolution {
  const zone = zoneOf(question.name.toLowerCase(), findZone);
  if (zone === null) return { rcode: 'REFUSED', answers: [], authorities: [] };
  const answers: ServedRrset[] = [];
  const seen = new Set<string>();
  for (let owner = question.name; ; ) {
    const name = relativeName(owner.toLowerCase(), zone.name);
    const types = findTypes(zone, name);
    const found = types?.get(question.type);
    const alias = found ?? types?.get('CNAME');
    if (alias === undefined) {
      const rcode = types === null ? 'NXDOMAIN' : 'NOERROR';
      return { rcode, answers, authorities: negative(zone) };
    }
    answers.push(serve(zone, alias, owner));
    seen.add(name);
    owner = absoluteName(alias.records[0]?.value ?? '.', zone.name);
    const target = owner.toLowerCase();
    const isOutside = target !== zone.name && !target.endsWith(`.${zone.name}`);
    if (found !== undefined || isOutside || seen.has(relativeName(target, zone.name))) {
      return { rcode: 'NOERROR', answers, authorities: [] };
    }
  }
}

/** The sets that answer for a name, from the name itself or a wildcard; null if the name does not exist. */
function findTypes({ table }: ServedZone, name: string): ReadonlyMap<string, Rrset> | null {
  if (table.exists(name)) return table.at(name);
  // Only a wildcard directly below the closest existing ancestor applies (RFC 4592 section 3.3.1).
  let encloser = parentName(name) ?? '@';
  while (!table.exists(encloser)) encloser = parentName(encloser) ?? '@';
  const wildcard = encloser === '@' ? '*' : `*.${encloser}`;
  return table.exists(wildcard) ? table.at(wildcard) : null;
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

const relativeName = (name: string, zoneName: string): string =>
  name === zoneName ? '@' : name.slice(0, -zoneName.length - 1);
