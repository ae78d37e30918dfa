import type { GardenErrorKind } from '@corral/garden';
import { backoffMs, spreadMs } from '@corral/wire';
import type { ServerTimes, Step, Verdict, WantedServer } from './model.js';
import type { NodeFailure } from './perform-node.js';
import { JOINED_LOOK_MS, waiting } from './verdicts.js';

const retry = { firstMs: 2_000, maxMs: 60_000 };

export interface PassState {
  readonly wanted: WantedServer;
  readonly now: Date;
  readonly times: ServerTimes;
  /** In [0, 1]. */
  readonly random: number;
}

/** The verdict when a cluster did not perform a step. Such failures are temporary: only its time limit ends a joining. */
export function judgeGarden(stand: PassState, step: Step['do'], failure: NodeFailure): Verdict {
  const { wanted, now, times, random } = stand;
  if (failure.kind === 'paused') {
    return waiting(wanted, now, times, {
      message: pausedSentence,
      inMs: failure.inMs,
      failures: wanted.failures,
      reason: 'UpstreamThrottled',
    });
  }
  const { kind, retryAfterSeconds } = failure.error;
  const backedOffMs = backoffMs(wanted.failures, retry);
  const againMs = wanted.phase === 'Joined' ? JOINED_LOOK_MS : backedOffMs;
  const inMs = (retryAfterSeconds ?? 0) * 1_000 + spreadMs(againMs, random);
  const failures = kind === 'throttled' ? wanted.failures : wanted.failures + 1;
  const reason = kind === 'throttled' ? 'UpstreamThrottled' : 'ClusterUnavailable';
  const verdict = waiting(wanted, now, times, { message: sentenceOf(kind, step), inMs, failures, reason });
  return wanted.phase === 'Joined' && isSilence(kind) ? { ...verdict, nodeReady: false } : verdict;
}

const pausedSentence = 'Requests to the garden are currently limited. Work continues automatically.';

/** The cluster does not answer, so the state of the node is unknown. */
const isSilence = (kind: GardenErrorKind): boolean =>
  ['unreachable', 'uncertain', 'server_error', 'unusable', 'not_found'].includes(kind);

function sentenceOf(kind: GardenErrorKind, step: Step['do']): string {
  if (kind === 'not_found' && step === 'prepareJoin') {
    return 'The cluster has no managed pool of the server’s architecture to take the node configuration from.';
  }
  if (isSilence(kind)) return 'The cluster does not answer. The service retries.';
  return kind === 'throttled' ? pausedSentence : 'The cluster postponed the request. The service retries.';
}
