import type { ServerPhase } from '@corral/contracts';
import { denialSentence, type GardenError, type GardenErrorKind } from '@corral/garden';
import type { ProjectFailure } from '@corral/hcloud';
import { backoffMs, spreadMs } from '@corral/service';
import type { ServerTimes, Step, Verdict, WaitReason, WantedServer } from './model.js';
import type { NodeFailure } from './perform-node.js';
import { failed, isAdoption, JOINED_CHECK_MS, progressAt, resting, waiting } from './verdicts.js';

/** What a verdict on a failed step depends on besides the failure. */
export interface FailureContext {
  readonly wanted: WantedServer;
  readonly now: Date;
  readonly times: ServerTimes;
  /** In [0, 1]. */
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
