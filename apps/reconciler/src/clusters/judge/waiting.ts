import type { ClusterWaitReason, Condition, ConditionReason, OperationWaiting } from '@corral/contracts';
import { gardenReportOf } from '../../garden/gate.js';
import { heldWait } from '../../loop/hold.js';
import type { Failure } from '../classify.js';
import type { Desired, Verdict } from '../model.js';
import { stamped } from './conditions.js';

/** Reasons of clusters that continue as soon as the garden is available again. */
export const waitsForGarden = ['GardenUnavailable', 'GardenAccessDenied'] as const;

/** Reasons of clusters that more workers would not help. */
export const causedByGarden = [...waitsForGarden, 'UpstreamThrottled'] as const;

/** Number of interrupted attempts in a row that are not reported, because the next one follows shortly. */
const quietTries = 2;

/**
 * Why a failed pass will be retried, and since when.
 *
 * @returns null when the failure is reported otherwise, or is too brief to report
 */
export function waitingOf(error: unknown, failure: Failure, { known }: Desired, now: Date): OperationWaiting | null {
  const found = reasonOf(error, failure, known.failures);
  if (found === null) return null;
  const [reason, message] = found;
  const since = known.waiting?.reason === reason ? known.waiting.since : now.toISOString();
  return { reason, message, since };
}

type Reason = readonly [reason: ClusterWaitReason, message: string];

const unavailable: Reason = [
  'GardenUnavailable',
  'The garden does not answer. Work continues once the garden is available again.',
];
const denied: Reason = [
  'GardenAccessDenied',
  'The garden denies access to this service. Work continues once access is restored.',
];
const throttled: Reason = ['UpstreamThrottled', 'The garden is limiting requests. Work continues automatically.'];
const overtaken: Reason = ['Retrying', 'Another change interrupted the last attempt. The service retries.'];
const fault: Reason = [
  'PlatformFault',
  'The platform has a fault. Its operators are notified, and the service retries.',
];

const quotaExceeded: Reason = [
  'PlatformQuotaExceeded',
  'A limit of this platform has been reached. Its operators are notified; work continues once there is capacity.',
];

function reasonOf(error: unknown, failure: Failure, failures: number): Reason | null {
  switch (failure.kind) {
    case 'needsUser':
      return null;
    case 'bug':
      return fault;
    case 'pause':
      return gardenReportOf(error)?.kind === 'locked' ? denied : unavailable;
    case 'platform':
      return failure.code === 'platform_quota_exceeded' ? quotaExceeded : fault;
    case 'retry':
      return failure.told === undefined ? reasonOfRetry(error, failures) : [failure.told.reason, failure.told.message];
  }
}

function reasonOfRetry(error: unknown, failures: number): Reason | null {
  const report = gardenReportOf(error)?.kind;
  if (report === 'throttled') return throttled;
  if (report === 'away') return unavailable;
  return failures < quietTries ? null : overtaken;
}

const waitFor =
  ([reason, message]: Reason) =>
  ({ known }: Desired, now: Date): OperationWaiting => {
    const said = known.conditions.find(({ type }) => type === 'Reconciled');
    const since = said?.reason === reason ? said.lastTransitionTime : now.toISOString();
    return { reason, message, since };
  };

/** The declaration waits until an operator ends the hold. */
export const waitWhileHeld = waitFor([heldWait.reason, heldWait.message]);

/** The Shoot is ahead of the declaration, which was restored from a backup. */
export const keptWait = waitFor([
  'KeptAfterRestore',
  'The cluster differs from its declaration, which was restored from a backup, and stays as it is. Change the declaration to continue.',
]);

/** Reasons of `Reconciled` that only say what is being done. */
const underWay: readonly string[] = [
  'Queued',
  'Pending',
  'Creating',
  'Updating',
  'Hibernating',
  'Resuming',
  'Deleting',
] satisfies ConditionReason[];

/** What an operation that goes on waits for, and since when: as the condition `Reconciled` tells it. */
export function waitIn(
  conditions: readonly Condition[],
  { to }: Verdict['operation'],
  { operation, known }: Desired,
  now: Date,
): OperationWaiting | null {
  const said = conditions.find(({ type }) => type === 'Reconciled');
  if (operation === null || to === 'succeeded' || to === 'failed') return null;
  if (said === undefined || said.status === 'True' || underWay.includes(said.reason)) return null;
  const { reason, message } = said;
  return { reason, message, since: known.waiting?.reason === reason ? known.waiting.since : now.toISOString() };
}

/**
 * The verdict on a cluster without a new observation: the previous verdict stays. Whether the garden answers is known anew with
 * each pass.
 */
export function unchangedVerdict({ known }: Desired, nextPassMs: number | null): Verdict {
  const { phase, conditions, seedName, migrationPhase, observed, observedGeneration } = known;
  const isOver = causedByGarden.some((reason) => reason === known.waiting?.reason);
  return {
    phase,
    conditions,
    seedName,
    migrationPhase,
    observed,
    observedGeneration,
    operation: { to: 'stay' },
    waiting: isOver ? null : known.waiting,
    nextPassMs,
  };
}

/**
 * Reports the wait in the condition `Reconciled`. A condition that was true becomes `Unknown`, because it can no longer be
 * observed.
 */
export function withWaiting(verdict: Verdict, waiting: OperationWaiting | null, desired: Desired, now: Date): Verdict {
  const said = verdict.conditions.find(({ type }) => type === 'Reconciled');
  if (waiting === null) return verdict;
  const status: Condition['status'] = said === undefined || said.status === 'False' ? 'False' : 'Unknown';
  const { reason, message, since } = waiting;
  const draft = { type: 'Reconciled', status, reason, message: `${message} This has been so since ${since}.` };
  const [condition] = stamped([draft], desired.known.conditions, now) as [Condition];
  const conditions =
    said === undefined
      ? [...verdict.conditions, condition]
      : verdict.conditions.map((each) => (each.type === 'Reconciled' ? condition : each));
  return { ...verdict, conditions, waiting };
}
