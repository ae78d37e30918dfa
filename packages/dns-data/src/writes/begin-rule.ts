import { assertNever, recordsOver } from '@corral/contracts';
import {
  type RrsetKey,
  type RrsetOwner,
  type RrsetWrite,
  type RrsetWriteKind,
  readRrsetBody,
  recordCountOf,
} from '../rrset.js';
import { copyOf, type DeliveryCheck, type EarlierWrite, isDue, isIdentical } from './copies.js';
import { ceilingOf, type OpenEntry, recordsHeld } from './owner-entries.js';

/** A write to be entered into the ledger. */
export interface NewWrite {
  readonly owner: RrsetOwner;
  /** Null for a deletion by Corral itself after the end of a demo. */
  readonly tokenId: string | null;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly requestBody: string | null;
  /** Identifies the request in the log; null when no client request caused the write. */
  readonly requestId: string | null;
  /** SHA-256 of token, method, path and body; null for requests that no client repeats. */
  readonly requestHash: Buffer | null;
}

export interface LedgerOptions {
  readonly quota: RecordQuota;
  /** How long no other process may settle a write in progress: longer than any upstream call. */
  readonly leaseMs: number;
  /** How long an undelivered outcome is kept for the client's retry. */
  readonly replayMs: number;
}

/** The right to finish one pending entry. */
export interface WriteLease {
  readonly entryId: number;
  readonly fence: number;
  readonly owner: RrsetOwner;
  readonly operation: RrsetWriteKind;
  /** The mirrored body when the write began. It cannot change while the entry is pending. */
  readonly current: string | null;
  /** The most records the set may have upstream, whether or not this write and earlier ones take effect. */
  readonly recordsMax: number;
}

export type BeginOutcome =
  | { kind: 'begun'; lease: WriteLease }
  /**
   * Another write to the set is in progress. `identical`: it is the same request, repeated. `isDue`: its holder is
   * gone, so any process may settle it.
   */
  | { kind: 'busy'; entryId: number; identical: boolean; isDue: boolean }
  /** An identical request was answered before, but its client did not receive the answer. */
  | { kind: 'replayed'; entryId: number; status: number; body: string }
  /** `reservedByActions`: the write would fit once the actions of earlier writes have succeeded. */
  | { kind: 'refused'; limit: keyof RecordQuota; max: number; reservedByActions: boolean }
  /** The demo has ended, so only deletions are accepted. */
  | { kind: 'ended' }
  /** Operators have suspended the team, so it can only read. */
  | { kind: 'suspended' }
  /** A hold is in force, so nothing is changed. */
  | { kind: 'held' };

/** What is read before a write begins. */
export interface Situation {
  /** The database's clock. */
  readonly now: Date;
  /** Whether the owner may write. Ending a demo takes the lock too, so no write begins after its end was committed. */
  readonly isLive: boolean;
  /** Whether operators have suspended the team, or that of the demo. */
  readonly isSuspended: boolean;
  /** A team's own quota of records; null for that of the installation. */
  readonly recordsMax: number | null;
  /** Whether a hold is in force. */
  readonly isHeld: boolean;
  /** The latest write to the set; null when there was none. */
  readonly latest: EarlierWrite | null;
  /** The mirrored set; null when absent. */
  readonly body: string | null;
  /** The owner's records in the mirror. */
  readonly records: number;
  readonly open: readonly OpenEntry[];
  /** Whether the upstream may have other values than the mirror, because an earlier write may have failed. */
  readonly isInDoubt: boolean;
}

type Decision = Exclude<BeginOutcome, { kind: 'begun' }> | Extract<Admission, { kind: 'admitted' }>;

/**
 * Decides what becomes of a write. Pure.
 *
 * @param wasDelivered whether the client of an identical earlier write has its answer; only then is this a new write
 */
export function decideBegin(
  newWrite: NewWrite,
  seen: Situation,
  { quota, replayMs }: LedgerOptions,
  wasDelivered: DeliveryCheck,
): Decision {
  const { now, latest } = seen;
  if (seen.isHeld) return { kind: 'held' };
  // Without a token Corral itself clears a demo that has ended.
  if (seen.isSuspended && newWrite.tokenId !== null) return { kind: 'suspended' };
  if (!seen.isLive && newWrite.write.operation !== 'delete') return { kind: 'ended' };
  if (latest?.state === 'pending') {
    const [entryId, identical] = [Number(latest.id), isIdentical(newWrite, latest)];
    return { kind: 'busy', entryId, identical, isDue: isDue(latest, now) };
  }
  const copy = copyOf(newWrite, latest, { now, replayMs }, wasDelivered);
  if (copy?.kind === 'replayed') return copy;
  return admit(newWrite, seen, quotaOf(newWrite.owner.kind, quota, seen.recordsMax));
}

/** Records freed by earlier writes count as used while their actions may fail. */
function admit({ write, key }: NewWrite, { body, records, open, isInDoubt }: Situation, quota: OwnerQuota): Decision {
  const { reserved, byActions } = recordsHeld(open);
  const count = recordCountOf(body);
  const ceiling = Math.max(count, ceilingOf(open, key));
  const admission = decideAdmission(write, { body, ceiling, isInDoubt }, records + reserved + byActions, quota);
  if (admission.kind === 'admitted') return admission;
  const mayFitLater = byActions > 0 || ceiling > count;
  const reservedByActions =
    mayFitLater && decideAdmission(write, { body }, records + reserved, quota).kind === 'admitted';
  return { ...admission, reservedByActions };
}

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

/** How many records the set may have after the write, given up to `before` now; 0 when it adds none. */
function reachOf(write: RrsetWrite, rrset: KnownRrset, before: number): number {
  switch (write.operation) {
    case 'create':
    case 'set_records':
      return write.records.length;
    case 'add_records': {
      // Values that exist already add nothing. The upstream refuses them with an error that clients know.
      const added = write.records.length - (rrset.isInDoubt ? 0 : countPresent(write, rrset.body));
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
