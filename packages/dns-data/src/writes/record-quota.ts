import { assertNever, recordsOver } from '@corral/contracts';
import { type RrsetOwner, type RrsetWrite, readRrsetBody, recordCountOf } from '../rrset.js';

export interface RecordQuota {
  readonly recordsPerTeam: number;
  readonly recordsPerDemo: number;
  readonly recordsPerRrset: number;
}

/** The quota that applies to the owner. */
export interface OwnerQuota {
  readonly limit: 'recordsPerTeam' | 'recordsPerDemo';
  readonly quota: RecordQuota;
}

export type Admission =
  | {
      kind: 'admitted';
      /**
       * Records to reserve beyond those in the mirror. Includes room held by earlier writes' actions, which may be
       * released meanwhile.
       */
      reserve: number;
      /** The most records the set may have upstream, whether or not this write and earlier ones take effect. */
      recordsMax: number;
    }
  | { kind: 'refused'; limit: keyof RecordQuota; max: number };

/** What is known of a set when a write to it begins. */
export interface KnownRrset {
  /** The mirrored body, null when absent. */
  readonly body: string | null;
  /** How many records it may have upstream. Above the mirrored count while earlier writes may fail. The default is that count. */
  readonly ceiling?: number;
  /** Whether the upstream may have other values than the mirror, because an earlier write may have failed. */
  readonly isInDoubt?: boolean;
}

/**
 * Decides whether a write fits the quotas, and how many records to reserve until its outcome is known.
 *
 * @param held the owner's records: those in the mirror, and those reserved for pending writes
 */
export function decideAdmission(
  write: RrsetWrite,
  rrset: KnownRrset,
  held: number,
  { limit, quota }: OwnerQuota,
): Admission {
  const { body, ceiling = recordCountOf(body) } = rrset;
  const reach = reachOf(write, rrset, ceiling);
  const growth = reach - ceiling;
  if (recordsOver(growth, ceiling, quota.recordsPerRrset) > 0) {
    return { kind: 'refused', limit: 'recordsPerRrset', max: quota.recordsPerRrset };
  }
  if (recordsOver(growth, held, quota[limit]) > 0) return { kind: 'refused', limit, max: quota[limit] };
  const reserve = Math.max(0, reach - recordCountOf(body));
  return { kind: 'admitted', reserve, recordsMax: Math.max(ceiling, reach) };
}

/**
 * How many records the set has after the write if it takes effect, where that does not depend on the set; 0 when the write adds none.
 *
 * @returns null if it depends on the set
 */
function statedRecords(write: RrsetWrite): number | null {
  switch (write.operation) {
    case 'create':
    case 'set_records':
      return write.records.length;
    case 'add_records':
      return null;
    case 'remove_records':
    case 'change_ttl':
    case 'update':
    case 'delete':
      return 0;
    default:
      return assertNever(write);
  }
}

/** How many records the set may have after the write, given up to `before` now; 0 when it adds none. */
function reachOf(write: RrsetWrite, rrset: KnownRrset, before: number): number {
  if (write.operation !== 'add_records') return statedRecords(write) ?? 0;
  // Values that exist already add nothing. The upstream refuses them with an error that clients know.
  const added = write.records.length - (rrset.isInDoubt ? 0 : countPresent(write, rrset.body));
  return added === 0 ? 0 : before + added;
}

/** How many of the values that a write adds are already in the mirrored body. */
export function countPresent(write: RrsetWrite, body: string | null): number {
  if (write.operation !== 'add_records' || body === null) return 0;
  const present = new Set(readRrsetBody(body).records.map((record) => record.value));
  return write.records.filter((record) => present.has(record.value)).length;
}

/**
 * The quota that applies to an owner.
 *
 * @param recordsMax the team's own quota; null for that of the installation
 */
export function quotaOf(kind: RrsetOwner['kind'], quota: RecordQuota, recordsMax: number | null): OwnerQuota {
  if (kind === 'demo') return { limit: 'recordsPerDemo', quota };
  return { limit: 'recordsPerTeam', quota: { ...quota, recordsPerTeam: recordsMax ?? quota.recordsPerTeam } };
}
