import { readRrsetBody, recordCountOf } from './rrset-body.js';
import { assertNever, type RrsetWrite } from './rrset-write.js';

export interface RecordQuota {
  readonly recordsPerTeam: number;
  readonly recordsPerRrset: number;
}

export type Admission =
  | { kind: 'admitted'; reserve: number }
  | { kind: 'refused'; limit: keyof RecordQuota; max: number };

/**
 * Decides whether a write fits the quotas, and how many records to hold for it until its outcome is known.
 * A write that adds nothing always fits: a team that an import took past its limit can still clean up.
 *
 * @param current the mirrored body of the set, null when absent
 * @param teamRecords records of the team in the mirror
 * @param teamReserved records held for the team's writes under way
 */
export function decideAdmission(
  write: RrsetWrite,
  current: string | null,
  teamRecords: number,
  teamReserved: number,
  quota: RecordQuota,
): Admission {
  const before = recordCountOf(current);
  const growth = growthOf(write, current, before);
  if (growth > 0 && before + growth > quota.recordsPerRrset) {
    return { kind: 'refused', limit: 'recordsPerRrset', max: quota.recordsPerRrset };
  }
  if (growth > 0 && teamRecords + teamReserved + growth > quota.recordsPerTeam) {
    return { kind: 'refused', limit: 'recordsPerTeam', max: quota.recordsPerTeam };
  }
  return { kind: 'admitted', reserve: Math.max(0, growth) };
}

/** How many records the set gains; negative when it loses some. */
function growthOf(write: RrsetWrite, current: string | null, before: number): number {
  switch (write.operation) {
    case 'create':
    case 'set_records':
      return write.records.length - before;
    case 'add_records': {
      // Values that are there already add nothing: the upstream will refuse them, in words that clients know.
      const present = new Set(current === null ? [] : readRrsetBody(current).records.map((record) => record.value));
      return write.records.filter((record) => !present.has(record.value)).length;
    }
    case 'remove_records':
    case 'change_ttl':
    case 'update':
    case 'delete':
      return 0;
    default:
      return assertNever(write);
  }
}
