import { readRrsetBody, recordCountOf } from './rrset-body.js';
import { assertNever, type RrsetWrite } from './rrset-write.js';

export interface RecordQuota {
  readonly recordsPerTeam: number;
  readonly recordsPerDemo: number;
  readonly recordsPerRrset: number;
}

/** Which of the quotas is the owner's. */
export interface OwnerQuota {
  readonly limit: 'recordsPerTeam' | 'recordsPerDemo';
  readonly quota: RecordQuota;
}

export type Admission =
  | {
      kind: 'admitted';
      /** Records that it may bring beyond those in the mirror: room of earlier writes that it uses may become free meanwhile. */
      reserve: number;
      /** The most that the set may have upstream, whether this write and earlier ones take effect or not. */
      recordsMax: number;
    }
  | { kind: 'refused'; limit: keyof RecordQuota; max: number };

/**
 * Decides whether a write fits the quotas, and how many records to hold for it until its outcome is known.
 * A write that adds nothing always fits: a team that an import took past its limit can still clean up.
 *
 * @param current the mirrored body of the set, null when absent
 * @param held records of the owner: those in the mirror, and those held for its writes under way
 * @param ceiling how many records the set may have upstream: more than the mirror holds while earlier writes may fail
 */
export function decideAdmission(
  write: RrsetWrite,
  current: string | null,
  held: number,
  { limit, quota }: OwnerQuota,
  ceiling = recordCountOf(current),
): Admission {
  const reach = reachOf(write, current, ceiling);
  const growth = reach - ceiling;
  if (growth > 0 && reach > quota.recordsPerRrset) {
    return { kind: 'refused', limit: 'recordsPerRrset', max: quota.recordsPerRrset };
  }
  if (growth > 0 && held + growth > quota[limit]) return { kind: 'refused', limit, max: quota[limit] };
  const reserve = Math.max(0, reach - recordCountOf(current));
  return { kind: 'admitted', reserve, recordsMax: Math.max(ceiling, reach) };
}

/** How many records the set may have once the write has its effect, with `before` of them until then; 0 when it adds none. */
function reachOf(write: RrsetWrite, current: string | null, before: number): number {
  switch (write.operation) {
    case 'create':
    case 'set_records':
      return write.records.length;
    case 'add_records': {
      // Values that are there already add nothing: the upstream will refuse them, in words that clients know.
      const present = new Set(current === null ? [] : readRrsetBody(current).records.map((record) => record.value));
      const added = write.records.filter((record) => !present.has(record.value)).length;
      return added === 0 ? 0 : before + added;
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
