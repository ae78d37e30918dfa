export type { ActionSortKey } from './actions/action-page.js';
export {
  type ActionRecord,
  type ActionStore,
  actionStore,
  type PropagatingWrite,
  type PropagationStore,
  propagationStore,
  type ReportedAction,
  timedOutAction,
} from './actions/action-store.js';
export {
  type CheckedAction,
  type PollLease,
  type PollLeases,
  pollLeases,
  type UnfinishedAction,
} from './actions/poll-leases.js';
export {
  type CourseRecord,
  courseStore,
  endCourse,
  endDemosOfTeam,
  isCourseCode,
  type LiveDemo,
} from './demos/course-code.js';
export { type DeleteRemainingDeps, type Deletion, deleteRemaining } from './demos/delete-remaining.js';
export { type DemoEnds, demoEnds, type RemainingRrset } from './demos/demo-ends.js';
export type { DemoRecord } from './demos/demo-rows.js';
export {
  type CreateOutcome,
  type DemoMaker,
  type DemoReach,
  type DemoStore,
  demoStore,
} from './demos/demo-store.js';
export { drawLabel, isLabel, isReservedLabel, labelOf } from './demos/label.js';
export { lastExpiryOf } from './demos/rules.js';
export { type EndingRrsets, endingRrsets } from './mirror/ending-rrsets.js';
export type { LabelRequirement, RrsetPage, RrsetScope, RrsetSelection, SortKey } from './mirror/mirror-store.js';
export { listPointingSets, type MirrorStore, mirrorStore, type ZoneRecord } from './mirror/mirror-store.js';
export {
  type DriftReporter,
  driftReporter,
  type FoundRrset,
  idOf,
  type ObserveResult,
  type SetKey,
} from './mirror/observe-rrsets.js';
export {
  type SyncCounts,
  type SyncLease,
  type SyncRunStore,
  type SyncStep,
  SyncTakenOver,
  syncRunStore,
  type WithZoneLock,
  zoneLock,
} from './mirror/sync-run-store.js';
export { type ZoneOwners, type ZoneSyncStore, zoneSyncStore } from './mirror/zone-sync-store.js';
export {
  assertUsable,
  effectOf,
  parseRrsetWrite,
  parseStoredWrite,
  type RrsetKey,
  type RrsetOwner,
  type RrsetWrite,
  type RrsetWriteKind,
  readRrsetBody,
  sameLabels,
  UnusableRrset,
  withMember,
} from './rrset.js';
export {
  type BeginOutcome,
  type LedgerOptions,
  type NewWrite,
  quotaOf,
  type RecordQuota,
  type WriteLease,
} from './writes/begin-rule.js';
export {
  type AnsweredRecorder,
  answeredRecorder,
  type CopyStore,
  copyStore,
  type DeliveryCheck,
  type FirstCopy,
} from './writes/copies.js';
export { type ReadTokenUse, readUsage, recordsOfTeam, type TokenUse, tokenUseReader } from './writes/owner-entries.js';
export { endOfAccepted, type PerformedWrite, performWrite, type UpstreamAnswer } from './writes/perform-write.js';
export {
  type ReadRrset,
  type RrsetSource,
  SETTLE_LEASE_MS,
  type SettledOutcome,
  settleWrite,
  upstreamReader,
} from './writes/settle-write.js';
export { type DueEntry, type DueRecheck, type SettlementStore, settlementStore } from './writes/settlement-store.js';
export {
  type RefusedWrite,
  type RefusedWrites,
  refusedWrites,
  type WriteEnd,
  type WriteLedger,
  writeLedger,
} from './writes/write-ledger.js';
