import { recordCountOf } from '../mirror/rrset-body.js';
import { type Admission, decideAdmission, type OwnerQuota, type RecordQuota } from './admission.js';
import { copyOf, type DeliveryCheck, type EarlierWrite, isDue, isIdentical } from './copies.js';
import type { BeginOutcome, LedgerOptions, NewWrite } from './new-write.js';
import type { LockedOwner } from './owner-lock.js';
import { ceilingOf, type OpenEntry, recordsHeld } from './records-held.js';
import type { RrsetOwner } from './rrset-write.js';

/** What is read, under the lock of its owner, before a write begins. */
export interface Situation {
  readonly owner: LockedOwner;
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
  { quota, replayMs }: Pick<LedgerOptions, 'quota' | 'replayMs'>,
  wasDelivered: DeliveryCheck,
): Decision {
  const { owner, latest, isHeld } = seen;
  if (isHeld) return { kind: 'held' };
  if (!owner.isLive && newWrite.write.operation !== 'delete') return { kind: 'ended' };
  if (latest?.state === 'pending') {
    const [entryId, identical] = [Number(latest.id), isIdentical(newWrite, latest)];
    return { kind: 'busy', entryId, identical, isDue: isDue(latest, owner.now) };
  }
  const copy = copyOf(newWrite, latest, { now: owner.now, replayMs }, wasDelivered);
  if (copy?.kind === 'replayed') return copy;
  return admit(newWrite, seen, quotaOf(newWrite.owner, quota, owner.recordsMax));
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

/** @param recordsMax the team's own quota; null for that of the installation */
function quotaOf({ kind }: RrsetOwner, quota: RecordQuota, recordsMax: number | null): OwnerQuota {
  if (kind === 'demo') return { limit: 'recordsPerDemo', quota };
  return { limit: 'recordsPerTeam', quota: { ...quota, recordsPerTeam: recordsMax ?? quota.recordsPerTeam } };
}
