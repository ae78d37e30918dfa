import { type RrsetSelection, readRrsetBody, type SortKey } from '@corral/dns-data';
import { fitsLabels } from '../../src/http/request.js';

export interface MirroredRrset {
  readonly name: string;
  readonly type: string;
  readonly body: string;
  readonly firstSeenAt: Date;
}

/** The rules of lists, applied in memory to all sets of a team. The pages that SQL returns must agree with this. */
export function selectRrsets(rrsets: readonly MirroredRrset[], selection: RrsetSelection): MirroredRrset[] {
  return rrsets.filter((rrset) => matches(rrset, selection)).sort(comparatorOf(selection.sort));
}

function matches(rrset: MirroredRrset, { name, types, labels }: RrsetSelection): boolean {
  if (name !== null && rrset.name !== name) return false;
  if (types.length > 0 && !types.includes(rrset.type)) return false;
  return labels === null || fitsLabels(labels, readRrsetBody(rrset.body).labels);
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

/** Names are ASCII, so the order of code units equals the order of bytes that the mirror uses. */
function compare(one: string | number, other: string | number): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
