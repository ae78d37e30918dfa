import type { Rrset } from '@corral/contracts';
import { sameLabels } from './rrset-body.js';

export type Comparison =
  | 'same'
  /**
   * Equivalent: it differs in spelling or in fields we do not compare. Update the mirrored text without reporting
   * drift.
   */
  | 'restated'
  | 'drifted';

/** The upstream changes the serial of this set with every change in the zone. */
const SELF_CHANGING_TYPE = 'SOA';

/**
 * Compares a mirrored set with the upstream's. Records compare as a set, since the upstream does not keep their order.
 *
 * @param mirrored the mirrored body, null when the mirror has no such set
 * @param found the upstream's body, null when absent there
 */
export function compareRrset(type: string, mirrored: string | null, found: string | null): Comparison {
  if (mirrored === found) return 'same';
  if (mirrored === null || found === null) return 'drifted';
  if (type === SELF_CHANGING_TYPE) return 'restated';
  const one = JSON.parse(mirrored) as Rrset;
  const other = JSON.parse(found) as Rrset;
  const agrees =
    one.ttl === other.ttl &&
    one.protection?.change === other.protection?.change &&
    sameLabels(one.labels ?? {}, other.labels ?? {}) &&
    sameLabels(commentsByValue(one), commentsByValue(other));
  return agrees ? 'restated' : 'drifted';
}

function commentsByValue(rrset: Rrset): Record<string, string> {
  return Object.fromEntries(rrset.records.map((record) => [record.value, record.comment ?? '']));
}
