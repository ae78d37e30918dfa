import { joinsByCommand, type OperationWaiting, type ServerErrorCode, type ServerPhase } from '@corral/contracts';
import type { OperationVerdict, ServerTimes, Step, Verdict, Wait, WaitReason, WantedServer } from './model.js';
import { hasToJoin } from './node-cluster.js';

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
