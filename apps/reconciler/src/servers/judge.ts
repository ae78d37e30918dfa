import { joinsByCommand, type OperationWaiting, type ServerErrorCode, type ServerPhase } from '@corral/contracts';
import { denialSentence, type GardenError, type GardenErrorKind } from '@corral/garden';
import type { ProjectFailure } from '@corral/hcloud';
import { backoffMs, spreadMs } from '@corral/service';
import {
  hasToJoin,
  type NodeFailure,
  type OperationVerdict,
  type ServerTimes,
  type Step,
  type Verdict,
  type Wait,
  type WaitReason,
  type WantedServer,
} from './model.js';

/** What a verdict on a failed step depends on besides the failure. */
export interface FailureContext {
  readonly wanted: WantedServer;
  readonly now: Date;
  readonly times: ServerTimes;
  /** A number in [0, 1]. */
  readonly random: number;
}

const providerRetry = { firstMs: 1_000, maxMs: 60_000 };
const clusterRetry = { firstMs: 2_000, maxMs: 60_000 };
const LOCKED_MS = 5_000;

/** Phases that include a rebuild. */
const rebuilding = new Set<ServerPhase>(['Adopting', 'Rebuilding', 'Joining', 'Leaving']);
/** Codes of temporary refusals. */
const passing = new Set(['locked', 'conflict', 'maintenance', 'rate_limit_exceeded', 'resource_unavailable']);

/**
 * The verdict when the provider did not perform a step. Only a definite and lasting refusal ends an adoption, joining or
 * leaving. Everything else is retried until its time limit.
 */
export function judgeProviderFailure(
  { wanted, now, times, random }: FailureContext,
  step: Step['do'],
  failure: ProjectFailure,
): Verdict {
  const isOnItsWay = wanted.deregisterRequestedAt === null && rebuilding.has(wanted.phase);
  const end = isOnItsWay ? lastingEnd(wanted, step, failure) : null;
  if (end !== null) return end;
  const failures = failure.kind === 'throttled' ? wanted.failures : wanted.failures + 1;
  const doubtsToken = failure.kind === 'credentials_refused';
  const inMs = spreadMs(waitMs(failure, wanted.failures), random);
  const [reason, message] = reasonFor(failure);
  if (isOnItsWay) {
    const progress = wanted.rebuildAskedAt === null ? progressAt.begun : progressAt.requested;
    return waiting(wanted, now, times, { message, reason, inMs, progress, failures, doubtsToken });
  }
  const rest = resting(wanted.phase, message, { to: 'stay' }, inMs);
  return { ...rest, failures, doubtsToken, waiting: { reason, message } };
}

/** Null when the step can be retried. */
function lastingEnd(wanted: WantedServer, step: Step['do'], failure: ProjectFailure): Verdict | null {
  const isWrite = step === 'putLabel' || step === 'requestRebuild';
  if (failure.kind === 'absent' && isWrite && wanted.phase !== 'Leaving') {
    return failed(wanted, 'server_gone', 'The cloud project has no such server.');
  }
  // A server that is in a cluster, or about to be, waits for a valid token: adopting it again would not help.
  if (failure.kind === 'credentials_refused' && failure.code !== 'unauthorized' && isAdoption(wanted)) {
    return failed(
      wanted,
      'server_token_rejected',
      'The token of the connection lacks the permissions for an adoption.',
    );
  }
  if (failure.kind !== 'refused' || !isWrite || passing.has(failure.code)) return null;
  if (failure.code === 'protected') {
    return failed(wanted, 'server_protected', 'The server is protected against rebuilds.');
  }
  return failed(wanted, 'server_rebuild_refused', `The provider refuses to rebuild the server (${failure.code}).`);
}

function waitMs(failure: ProjectFailure, failuresBefore: number): number {
  if (failure.kind === 'throttled') return failure.retryAfterMs;
  const againMs = backoffMs(failuresBefore, providerRetry);
  return failure.kind === 'refused' ? Math.max(LOCKED_MS, againMs) : againMs;
}

function reasonFor(failure: ProjectFailure): [WaitReason, message: string] {
  switch (failure.kind) {
    case 'throttled':
      return ['ProviderThrottled', 'The request limit of the cloud project is used up. Work continues automatically.'];
    case 'credentials_refused':
      return ['ProviderTokenRejected', 'The provider refused the token of the connection. The service retries.'];
    case 'refused': {
      const message = `The provider postponed the request (${failure.code}). The service retries.`;
      return [failure.code === 'rate_limit_exceeded' ? 'ProviderThrottled' : 'ServerBusy', message];
    }
    default:
      return ['ProviderUnavailable', 'The provider gives no usable answer. The service retries.'];
  }
}

/** The verdict when a cluster did not perform a step. Such failures are temporary: only its time limit ends a joining. */
export function judgeClusterFailure(context: FailureContext, step: Step['do'], failure: NodeFailure): Verdict {
  const { wanted, now, times, random } = context;
  if (failure.kind === 'paused') {
    return waiting(wanted, now, times, {
      message: pausedSentence,
      inMs: failure.inMs,
      failures: wanted.failures,
      reason: 'UpstreamThrottled',
    });
  }
  const { error } = failure;
  const { kind, retryAfterSeconds } = error;
  const backedOffMs = backoffMs(wanted.failures, clusterRetry);
  const againMs = wanted.phase === 'Joined' ? JOINED_CHECK_MS : backedOffMs;
  const inMs = (retryAfterSeconds ?? 0) * 1_000 + spreadMs(againMs, random);
  const failures = kind === 'throttled' ? wanted.failures : wanted.failures + 1;
  const [reason, message] = obstacleIn(error, step);
  const verdict = waiting(wanted, now, times, { message, inMs, failures, reason });
  return wanted.phase === 'Joined' && isSilence(kind) ? { ...verdict, nodeReady: false } : verdict;
}

const pausedSentence = 'Requests to the garden are currently limited. Work continues automatically.';

/** The cluster does not answer, so the state of the node is unknown. */
const isSilence = (kind: GardenErrorKind): boolean =>
  ['unreachable', 'uncertain', 'server_error', 'unusable', 'not_found'].includes(kind);

function obstacleIn({ kind, denial, webhook, fromShoot }: GardenError, step: Step['do']): [WaitReason, string] {
  const place = fromShoot ? 'cluster' : 'garden';
  if (denial !== null) return ['PolicyRefused', denialSentence(denial, 'work on the node', place)];
  if (kind === 'webhook_unavailable') {
    return [
      'WebhookUnavailable',
      `The admission webhook ${webhook} of the ${place} does not answer. The service retries.`,
    ];
  }
  if (kind === 'throttled') return ['UpstreamThrottled', pausedSentence];
  return ['ClusterUnavailable', sentenceOf(kind, step)];
}

function sentenceOf(kind: GardenErrorKind, step: Step['do']): string {
  if (kind === 'not_found' && step === 'prepareJoin') {
    return 'The cluster has no managed pool of the server’s architecture to take the node configuration from.';
  }
  return isSilence(kind)
    ? 'The cluster does not answer. The service retries.'
    : 'The cluster postponed the request. The service retries.';
}

export const DAY_MS = 86_400_000;
/** Interval of passes while a token is rejected. A new token makes the server due immediately. */
export const TOKEN_MS = 60_000;
/** Interval of passes over a healthy node. */
export const JOINED_CHECK_MS = 60_000;

/** Lifetime of a join token: it must cover the rebuild and the first steps of the node agent. */
export const JOIN_TOKEN_MS = 900_000;

interface Waiting {
  readonly message: string;
  /** Absent while everything goes well, or when the phase says enough. */
  readonly reason?: WaitReason;
  readonly inMs: number;
  /** Progress of an adoption, 0 to 99. */
  readonly progress?: number;
  /** Error code of the adoption at its time limit. */
  readonly code?: ServerErrorCode;
  readonly failures?: number;
  readonly doubtsToken?: boolean;
}

/** Progress of an adoption at each milestone, in percent. */
export const progressAt = { begun: 5, labelled: 20, requested: 30, rebuilding: 35 } as const;

export const finish = (verdict: Verdict): Step => ({ do: 'finish', verdict });

/** Joining and leaving are visible in the phase only, because the adoption's operation has ended before. */
export const isAdoption = ({ phase }: WantedServer): boolean => phase === 'Adopting' || phase === 'Rebuilding';

/** Whether the operation reports the outcome too. A machine that joins by command is adopted once it is a node. */
const reportsOperation = (wanted: WantedServer): boolean =>
  joinsByCommand(wanted.kind) ? wanted.isAdopting : isAdoption(wanted);

/** Continues later. At the time limit, an adoption fails with the code of the wait. */
export function waiting(wanted: WantedServer, now: Date, times: ServerTimes, wait: Waiting): Verdict {
  if (joinsByCommand(wanted.kind)) return waitingForOwner(wanted, now, times, wait);
  const { message, reason, inMs, progress = progressAt.begun, code, failures = 0, doubtsToken = false } = wait;
  const isOver = isTimeOver(wanted, now, times);
  if (!isAdoption(wanted)) {
    if (isOver) return failed(wanted, 'server_join_timeout', timeoutSentence(times));
    // Keep the reason of the failure visible until it is resolved.
    const shown = wanted.phase === 'Failed' ? wanted.message : message;
    return { ...resting(wanted.phase, shown, { to: 'stay' }, inMs), failures, doubtsToken };
  }
  if (isOver) return failed(wanted, code ?? 'server_adoption_timeout', message);
  const phase = wanted.rebuildAskedAt === null ? 'Adopting' : 'Rebuilding';
  const blocked = reason === undefined ? null : { reason, message };
  return { ...resting(phase, message, { to: 'running', progress }, inMs), failures, doubtsToken, waiting: blocked };
}

/** An open operation says what it waits for, because its owner must act. */
function waitingForOwner(wanted: WantedServer, now: Date, times: ServerTimes, wait: Waiting): Verdict {
  const { message, inMs, progress = progressAt.begun, reason = 'Retrying', failures = 0 } = wait;
  if (isPatienceOver(wanted, now, times)) return failed(wanted, 'server_never_joined', patienceSentence(times));
  const shown = wanted.phase === 'Failed' ? wanted.message : message;
  const verdict = { ...resting(wanted.phase, shown, { to: 'stay' }, inMs), failures };
  return wanted.isAdopting
    ? { ...verdict, operation: { to: 'running', progress }, waiting: { reason, message } }
    : verdict;
}

/** A command cannot be run for a hibernated cluster, so that time does not count. */
function isPatienceOver(wanted: WantedServer, now: Date, { commandMsMax }: ServerTimes): boolean {
  if (wanted.claim?.cluster.isHibernated === true) return false;
  if (wanted.phase === 'Joining') return hasToJoin(wanted) && now.getTime() - wanted.begunAt.getTime() > commandMsMax;
  return (
    wanted.phase === 'Adopting' && wanted.isAdopting && now.getTime() - wanted.acknowledgedAt.getTime() > commandMsMax
  );
}

const patienceSentence = ({ commandMsMax }: ServerTimes): string =>
  `The machine did not become a node within ${Math.ceil(commandMsMax / 3_600_000)} hours.`;

/**
 * Leaving has no time limit, because a remaining node has no use. The same applies to a joining that is no longer wanted, and
 * while the cluster is hibernated.
 */
function isTimeOver(wanted: WantedServer, now: Date, times: ServerTimes): boolean {
  if (isAdoption(wanted)) return now.getTime() - wanted.acknowledgedAt.getTime() > times.adoptionMsMax;
  if (wanted.phase !== 'Joining' || !hasToJoin(wanted) || wanted.currentCluster?.isHibernated === true) return false;
  return now.getTime() - wanted.begunAt.getTime() > times.joinMsMax;
}

const timeoutSentence = ({ joinMsMax }: ServerTimes): string =>
  `The node did not become Ready within ${Math.ceil(joinMsMax / 60_000)} minutes.`;

/** Without an operation the message contains the code. */
export function failed(wanted: WantedServer, code: ServerErrorCode, message: string): Verdict {
  if (reportsOperation(wanted)) return resting('Failed', message, { to: 'failed', code, message }, null);
  return { ...resting('Failed', `${message} (${code})`, { to: 'stay' }, null), nodeReady: false };
}

/** @param nextPassMs default about a day, because servers disappear without notice */
export function resting(
  phase: ServerPhase,
  message: string,
  operation: OperationVerdict,
  nextPassMs: number | null = DAY_MS,
): Verdict {
  const rest = { waiting: null, failures: 0, doubtsToken: false, nodeReady: null, hasLeftCluster: false };
  return { phase, message, operation, nextPassMs, ...rest };
}

/** Adds the time since when it waits for this reason, even when the message changes. */
export function waitingSince(wait: Wait | null, known: OperationWaiting | null, now: Date): OperationWaiting | null {
  if (wait === null) return null;
  return { ...wait, since: known?.reason === wait.reason ? known.since : now.toISOString() };
}
