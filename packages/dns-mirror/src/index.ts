export { type ActionPageLookUp, type ActionSortKey, LISTED_ACTIONS_MAX } from './action-page.js';
export {
  type ActionRecord,
  type ActionStore,
  actionStore,
  type FailedWrite,
  givenUp,
  OWN_ACTION_ID_BASE,
  type ToldAction,
} from './action-store.js';
export { type Admission, decideAdmission, type OwnerQuota, type RecordQuota } from './admission.js';
export { type AnsweredRecorder, answeredRecorder } from './answered-recorder.js';
export { type AuditPage, type AuditRecord, auditLog } from './audit-log.js';
export { type Comparison, compareRrset } from './compare-rrset.js';
export { type ConcludeDeps, type Conclusion, concludeWrite } from './conclude-write.js';
export { type CopyQuery, type CopyStore, copyStore, type DeliveryCheck, type FirstCopy } from './copies.js';
export { type DriftReporter, driftReporter } from './drift-reporter.js';
export {
  type MirrorStore,
  mirrorStore,
  type ZoneRecord,
} from './mirror-store.js';
export {
  type DriftKind,
  type FoundRrset,
  idOf,
  type Observation,
  type ObserveOptions,
  type ObserveResult,
  type SetKey,
} from './observe-rrsets.js';
export {
  type CheckedAction,
  type PollOptions,
  type PollTurn,
  type PollTurns,
  pollTurns,
  type UnfinishedAction,
} from './poll-turns.js';
export { type RefusedWrite, type RefusedWrites, refusedWrites } from './refused-writes.js';
export { effectOf, readRrsetBody, recordCountOf, sameLabels, showsEffect, withMember } from './rrset-body.js';
export type { LabelRequirement, PageLookUp, RrsetScope, RrsetSelection, SortKey } from './rrset-page.js';
export {
  assertNever,
  parseRrsetWrite,
  parseStoredWrite,
  type RrsetKey,
  type RrsetOperation,
  type RrsetWrite,
} from './rrset-write.js';
export {
  type ReadRrset,
  type RrsetSource,
  SETTLE_LEASE_MS,
  type SettledOutcome,
  settleWrite,
  upstreamReader,
} from './settle-write.js';
export { settledAnswer } from './settled-answer.js';
export {
  type DueEntry,
  type DueRecheck,
  type Settlement,
  type SettlementStore,
  settlementStore,
} from './settlement-store.js';
export {
  type SyncCounts,
  type SyncLease,
  type SyncRunStore,
  type SyncStep,
  SyncTakenOver,
  syncRunStore,
} from './sync-run-store.js';
export { endOfAccepted, type UpstreamAnswer } from './upstream-end.js';
export { assertUsable, UnusableRrset } from './usable-rrset.js';
export {
  type BeginOutcome,
  type LedgerOptions,
  type NewWrite,
  type RrsetOwner,
  type WriteEnd,
  type WriteLease,
  type WriteLedger,
  writeLedger,
} from './write-ledger.js';
export {
  type ObservedRrset,
  type ZoneOwners,
  type ZoneSyncStore,
  zoneSyncStore,
} from './zone-sync-store.js';
