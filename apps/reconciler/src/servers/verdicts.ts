import { joinsByCommand, type ServerErrorCode, type ServerPhase } from '@corral/contracts';
import { hasToJoin } from './membership.js';
import type { OperationVerdict, ServerTimes, Step, Verdict, WantedServer } from './model.js';
import type { WaitReason } from './wait-reasons.js';

export const DAY_MS = 86_400_000;
/** A token that is rejected is looked at again so often; a better one is told of at once. */
export const TOKEN_MS = 60_000;
/** A node that is well is looked at so often. */
export const JOINED_LOOK_MS = 60_000;

/** So long a token with which a server joins is good: for the rebuild and the first steps of the node agent. */
export const JOIN_TOKEN_MS = 900_000;

interface Waiting {
  readonly message: string;
  /** Absent while all goes well, and for what is told by the phase alone. */
  readonly reason?: WaitReason;
  readonly inMs: number;
  /** Of an adoption, 0 to 99. */
  readonly progress?: number;
  /** What an adoption fails of when its time is over. */
  readonly code?: ServerErrorCode;
  readonly failures?: number;
  readonly doubtsToken?: boolean;
}

/** How far an adoption is at each of its marks, for people. */
export const progressAt = { begun: 5, claimed: 20, asked: 30, rebuilding: 35 } as const;

export const settle = (verdict: Verdict): Step => ({ do: 'settle', verdict });

/** Joining and leaving are told by the phase: the operation of the adoption has ended long before. */
export const isAdoption = ({ phase }: WantedServer): boolean => phase === 'Adopting' || phase === 'Rebuilding';

/** Whether what becomes of it is told by the operation as well. One that joins by command is adopted once it is a node. */
const tellsOperation = (wanted: WantedServer): boolean =>
  joinsByCommand(wanted.kind) ? wanted.isAdopting : isAdoption(wanted);

/** It goes on later; when its time is over, an adoption fails of what it waits for. */
export function waiting(wanted: WantedServer, now: Date, times: ServerTimes, wait: Waiting): Verdict {
  if (joinsByCommand(wanted.kind)) return waitingForOwner(wanted, now, times, wait);
  const { message, reason, inMs, progress = progressAt.begun, code, failures = 0, doubtsToken = false } = wait;
  const isOver = isTimeOver(wanted, now, times);
  if (!isAdoption(wanted)) {
    if (isOver) return failed(wanted, 'server_join_timeout', timeoutSentence(times));
    // Why it failed is what people have to read until that is over.
    const told = wanted.phase === 'Failed' ? wanted.message : message;
    return { ...resting(wanted.phase, told, { to: 'stay' }, inMs), failures, doubtsToken };
  }
  if (isOver) return failed(wanted, code ?? 'server_adoption_timeout', message);
  const phase = wanted.rebuildAskedAt === null ? 'Adopting' : 'Rebuilding';
  const told = reason === undefined ? null : { reason, message };
  return { ...resting(phase, message, { to: 'running', progress }, inMs), failures, doubtsToken, waiting: told };
}

/** What is open says what it waits for: somebody has to do something, and may not know. */
function waitingForOwner(wanted: WantedServer, now: Date, times: ServerTimes, wait: Waiting): Verdict {
  const { message, inMs, progress = progressAt.begun, reason = 'Retrying', failures = 0 } = wait;
  if (isPatienceOver(wanted, now, times)) return failed(wanted, 'server_never_joined', patienceSentence(times));
  const told = wanted.phase === 'Failed' ? wanted.message : message;
  const verdict = { ...resting(wanted.phase, told, { to: 'stay' }, inMs), failures };
  return wanted.isAdopting
    ? { ...verdict, operation: { to: 'running', progress }, waiting: { reason, message } }
    : verdict;
}

/** Nobody can run a command for a cluster that sleeps, so that time does not count. */
function isPatienceOver(wanted: WantedServer, now: Date, { commandMsMax }: ServerTimes): boolean {
  if (wanted.claim?.cluster.isAsleep === true) return false;
  if (wanted.phase === 'Joining') return hasToJoin(wanted) && now.getTime() - wanted.begunAt.getTime() > commandMsMax;
  return (
    wanted.phase === 'Adopting' && wanted.isAdopting && now.getTime() - wanted.acknowledgedAt.getTime() > commandMsMax
  );
}

const patienceSentence = ({ commandMsMax }: ServerTimes): string =>
  `The machine did not become a node within ${Math.ceil(commandMsMax / 3_600_000)} hours.`;

/**
 * Leaving takes as long as it takes: nobody is helped by a node that stays. So does the end of a joining that is not
 * wanted any more. And no node comes to a cluster that sleeps.
 */
function isTimeOver(wanted: WantedServer, now: Date, times: ServerTimes): boolean {
  if (isAdoption(wanted)) return now.getTime() - wanted.acknowledgedAt.getTime() > times.adoptionMsMax;
  if (wanted.phase !== 'Joining' || !hasToJoin(wanted) || wanted.member?.isAsleep === true) return false;
  return now.getTime() - wanted.begunAt.getTime() > times.joinMsMax;
}

const timeoutSentence = ({ joinMsMax }: ServerTimes): string =>
  `The node did not become Ready within ${Math.ceil(joinMsMax / 60_000)} minutes.`;

/** Without an operation that could tell the code, the message has to. */
export function failed(wanted: WantedServer, code: ServerErrorCode, message: string): Verdict {
  if (tellsOperation(wanted)) return resting('Failed', message, { to: 'failed', code, message }, null);
  return { ...resting('Failed', `${message} (${code})`, { to: 'stay' }, null), nodeReady: false };
}

/** @param lookAgainMs by default in about a day: servers go without telling anybody */
export function resting(
  phase: ServerPhase,
  message: string,
  operation: OperationVerdict,
  lookAgainMs: number | null = DAY_MS,
): Verdict {
  const rest = { waiting: null, failures: 0, doubtsToken: false, nodeReady: null, endsMembership: false };
  return { phase, message, operation, lookAgainMs, ...rest };
}
