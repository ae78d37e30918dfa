import { type MirroredRrset, readRrsetBody } from '@corral/dns-mirror';
import { pageOf, type RrsetQuery, type SortKey } from './list-query.js';

/**
 * Filters, sorts and pages a team's sets. What no `sort` decides is decided by id, so that pages never overlap.
 *
 * @returns the bodies of the page, and how many sets there are on all pages
 */
export function selectRrsets(rrsets: readonly MirroredRrset[], query: RrsetQuery): { total: number; bodies: string[] } {
  const selected = rrsets.filter((rrset) => matches(rrset, query)).sort(comparatorOf(query.sort));
  return { total: selected.length, bodies: pageOf(selected, query).map((rrset) => rrset.body) };
}

/** True when the mirror can serve the query as it stands: every set of the scope, ordered by id. */
export function isPlain({ name, types, labels, sort }: RrsetQuery): boolean {
  const byId = sort.length === 0 || (sort[0]?.by === 'id' && !sort[0].descending);
  return name === null && types.length === 0 && labels === null && byId;
}

function matches(rrset: MirroredRrset, { name, types, labels }: RrsetQuery): boolean {
  if (name !== null && rrset.name !== name) return false;
  if (types.length > 0 && !types.includes(rrset.type)) return false;
  return labels === null || labels(readRrsetBody(rrset.body).labels);
}

function comparatorOf(sort: readonly SortKey[]): (one: MirroredRrset, other: MirroredRrset) => number {
  const keys: readonly SortKey[] = [...sort, { by: 'id', descending: false }];
  return (one, other) => {
    for (const { by, descending } of keys) {
      const order = compare(keyOf(one, by), keyOf(other, by));
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  };
}

function keyOf(rrset: MirroredRrset, by: SortKey['by']): string | number {
  if (by === 'created') return rrset.firstSeenAt.getTime();
  return by === 'name' ? rrset.name : `${rrset.name}/${rrset.type}`;
}

/** Names are ASCII, so the order of code units is the order of bytes, which is the mirror's own. */
function compare(one: string | number, other: string | number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
