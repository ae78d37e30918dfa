import type { ServerPhase } from '@corral/contracts';
import type { ProjectFailure } from '@corral/hcloud';
import { backoffMs, spreadMs } from '@corral/wire';
import type { PassState } from './judge-garden.js';
import type { Step, Verdict, WaitReason, WantedServer } from './model.js';
import { failed, isAdoption, progressAt, resting, waiting } from './verdicts.js';

const retry = { firstMs: 1_000, maxMs: 60_000 };
const LOCKED_MS = 5_000;

/** Phases that include a rebuild. */
const rebuilding = new Set<ServerPhase>(['Adopting', 'Rebuilding', 'Joining', 'Leaving']);
/** Codes of temporary refusals. */
const passing = new Set(['locked', 'conflict', 'maintenance', 'rate_limit_exceeded', 'resource_unavailable']);

/**
 * The verdict when the provider did not perform a step. Only a definite and lasting refusal ends an adoption, joining or
 * leaving. Everything else is retried until its time limit.
 */
export function judgeFailure(
  { wanted, now, times, random }: PassState,
  step: Step['do'],
  failure: ProjectFailure,
): Verdict {
  const isOnItsWay = wanted.deregisterRequestedAt === null && rebuilding.has(wanted.phase);
  const end = isOnItsWay ? lastingEnd(wanted, step, failure) : null;
  if (end !== null) return end;
  const failures = failure.kind === 'throttled' ? wanted.failures : wanted.failures + 1;
  const doubtsToken = failure.kind === 'credentials_refused';
  const inMs = spreadMs(waitMs(failure, wanted.failures), random);
  const [reason, message] = toldOf(failure);
  if (isOnItsWay) {
    const progress = wanted.rebuildAskedAt === null ? progressAt.begun : progressAt.asked;
    return waiting(wanted, now, times, { message, reason, inMs, progress, failures, doubtsToken });
  }
  const rest = resting(wanted.phase, message, { to: 'stay' }, inMs);
  return { ...rest, failures, doubtsToken, waiting: { reason, message } };
}

/** Null when the step can be retried. */
function lastingEnd(wanted: WantedServer, step: Step['do'], failure: ProjectFailure): Verdict | null {
  const isWrite = step === 'putClaim' || step === 'askRebuild';
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
  const againMs = backoffMs(failuresBefore, retry);
  return failure.kind === 'refused' ? Math.max(LOCKED_MS, againMs) : againMs;
}

function toldOf(failure: ProjectFailure): [WaitReason, message: string] {
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
