import {
  assertNever,
  type BeginOutcome,
  type CopyStore,
  type DeliveryCheck,
  type DriftReporter,
  type FirstCopy,
  type PerformedWrite,
  performWrite,
  type WriteLease,
  type WriteLedger,
} from '@corral/dns-data';
import type { UpstreamWrite, WriteOptions, WriteOutcome } from '@corral/hcloud';
import {
  ClientGone,
  changesAreHeld,
  quotaExceeded,
  tokenUnknown,
  tooManyWait,
  upstreamUnavailable,
  upstreamUsedUp,
} from '../dns-error.js';
import { ownerOf } from './access.js';
import { type CheckedWrite, refusalOf, type WriteAnswer } from './checked-write.js';
import type { NoteRefused } from './refused-writes.js';
import type { LookAgain, Settling } from './settling.js';
import type { WriteWaits } from './write-waits.js';

export interface AnswerWriteDeps {
  readonly ledger: Pick<WriteLedger, 'begin' | 'finish' | 'release'>;
  readonly send: (write: UpstreamWrite, options: Required<WriteOptions>) => Promise<WriteOutcome>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** Reads a set again that was changed by others. */
  readonly lookAgain: LookAgain;
  readonly reportDrift: DriftReporter;
  /** The upstream's hourly request limit, if known. */
  readonly budgetLimit: () => number | null;
  readonly noteRefused: NoteRefused;
  readonly settling: Pick<Settling, 'settleOwn'>;
  /** How long an uncertain write is reserved for this process to settle, in milliseconds. */
  readonly settleHoldMs: number;
}

/** How often a write is repeated that definitely did not happen. */
const REPETITIONS_MAX = 1;
/** Minimum wait of the repetition, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Performs a write for a client and returns the answer. The caller must ensure that it is the only write to its set in this
 * process.
 */
export function answerWrite(
  deps: AnswerWriteDeps,
  { placesOf, inTurn, waitForSet, waitForRoom }: WriteWaits,
  { wasDelivered, follow }: FirstCopies,
): (request: CheckedWrite, requestHash: Buffer) => Promise<WriteAnswer> {
  const { ledger } = deps;

  const perform = async (request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    for (let repetitions = 0; ; repetitions += 1) {
      const deadline = repetitions === 0 ? request.deadline : Math.max(request.deadline, deps.now() + AGAIN_MS);
      const answer = await performOnce({ ...request, deadline }, requestHash);
      if (answer.kind === 'known') return answer;
      // It definitely did not happen, so it is repeated on behalf of the client.
      if (repetitions === REPETITIONS_MAX) throw upstreamUnavailable(answer.cause);
    }
  };

  const performOnce = async (request: CheckedWrite, requestHash: Buffer): Promise<Answered> => {
    const queue = placesOf(request);
    let isUnsent = false;
    const send = async () => {
      const patienceMs = Math.max(0, request.deadline - deps.now());
      const options = { patienceMs, signal: request.gone, enterQueue: queue.enter };
      const outcome = await deps.send(request.upstream, options).finally(request.setAside());
      isUnsent = outcome.kind === 'unreached' || outcome.kind === 'throttled';
      return outcome;
    };
    const settle = (lease: WriteLease) => deps.settling.settleOwn(request, lease).finally(request.setAside());
    const performed = await performWrite<Replayed | Held>({ ...deps, settleAfterMs: deps.settleHoldMs }, request, {
      begin: () => begin(request, requestHash).catch((error: unknown) => deps.noteRefused(refusalOf(request), error)),
      send,
      settle,
    }).catch((error: unknown) => {
      if (isUnsent && request.gone.aborted) throw new ClientGone();
      throw error;
    });
    if (performed.kind === 'replayed') return { ...performed, kind: 'known' };
    // Not counted as refused: a hold is none of the client's doing.
    if (performed.kind === 'held') throw changesAreHeld();
    const { lease, result } = performed;
    if (isUnsent && request.gone.aborted) throw new ClientGone();
    if (isUnsent && queue.wasFull()) {
      throw tooManyWait(result.kind === 'throttled' ? result.retryAfterSeconds : undefined);
    }
    return answerOf(request, lease, result);
  };

  const begin = async (request: CheckedWrite, requestHash: Buffer) => {
    const { caller, requestId, key, write, bytes } = request;
    const requestBody = bytes === null ? null : bytes.toString('utf8');
    const by = { owner: ownerOf(caller), tokenId: caller.tokenId, requestId };
    const newWrite = { ...by, key, write, requestBody, requestHash };
    for (;;) {
      const outcome = await inTurn(request, () => ledger.begin(newWrite, wasDelivered));
      switch (outcome.kind) {
        case 'begun':
        case 'replayed':
        case 'held':
          return outcome;
        case 'refused':
          if (!outcome.reservedByActions || deps.now() >= request.deadline)
            throw quotaExceeded(outcome.limit, outcome.max);
          await waitForRoom(request);
          break;
        case 'ended':
          // Revoked after the token was checked. The next request will be rejected earlier.
          throw tokenUnknown();
        case 'busy':
          if (outcome.identical) {
            const copy = await follow(request, requestHash, outcome);
            if (copy !== null) return copy;
          } else await waitForSet(request, outcome.isDue);
          break;
        default:
          assertNever(outcome);
      }
    }
  };

  const answerOf = async (request: CheckedWrite, lease: WriteLease, result: PerformedWrite): Promise<Answered> => {
    const { entryId } = lease;
    switch (result.kind) {
      case 'accepted':
      case 'refused':
        await tellDrift(request, lease, result);
        return { kind: 'known', entryId, status: result.status, body: result.body };
      case 'settled':
        return { ...result, kind: 'known', entryId };
      case 'void':
        return { kind: 'void', cause: new Error(result.reason) };
      case 'uncertain':
      case 'unreached':
        throw upstreamUnavailable(new Error(result.reason));
      case 'credentials_refused':
        throw upstreamUnavailable(new Error(`the upstream refuses the gateway's token: ${result.code}`), {
          waitingHelps: false,
        });
      case 'throttled':
        throw upstreamUsedUp(result.usedUp, {
          retryAfterSeconds: result.retryAfterSeconds,
          budget: { limit: deps.budgetLimit(), remaining: 0, resetAt: result.resetAt },
        });
      case 'unnecessary':
        throw new Error('every request of a client is sent');
      default:
        return assertNever(result);
    }
  };

  const tellDrift = async (
    { caller, key }: CheckedWrite,
    { entryId }: WriteLease,
    result: Extract<PerformedWrite, { kind: 'accepted' | 'refused' }>,
  ): Promise<void> => {
    if (result.kind === 'accepted' && result.wasRemoved) {
      const team = caller.kind === 'team' ? caller.ownerLabel : null;
      deps.reportDrift({ name: key.name, type: key.type, team, result: 'removed' });
    }
    if (result.recheck) await deps.lookAgain(entryId, key);
  };

  return perform;
}

type Replayed = Extract<BeginOutcome, { kind: 'replayed' }>;
type Held = Extract<BeginOutcome, { kind: 'held' }>;

/** The outcome of one attempt. `void`: it definitely did not happen. */
type Answered = ({ readonly kind: 'known' } & WriteAnswer) | { readonly kind: 'void'; readonly cause: Error };

export interface FirstCopiesDeps {
  readonly copies: CopyStore;
  /** Whether this process saw the entry's answer delivered. */
  readonly isDelivered: (entryId: number) => boolean;
}

type FirstCopies = ReturnType<typeof firstCopies>;

/** Finds earlier copies of a write in the ledger, from any gateway, answered or not. */
export function firstCopies({ copies, isDelivered }: FirstCopiesDeps, { waitForSet }: Pick<WriteWaits, 'waitForSet'>) {
  /** Whether the client of an entry has received its answer. */
  const wasDelivered: DeliveryCheck = (entryId, recorded) => recorded || isDelivered(entryId);

  /** @returns the outcome of a pending first copy, or null when it definitely did not happen */
  const follow = async (request: CheckedWrite, requestHash: Buffer, { entryId, isDue }: Pending) => {
    for (let copy: FirstCopy | null = { kind: 'pending', entryId, isDue }; ; ) {
      if (copy === null || copy.kind === 'replayed') return copy;
      await waitForSet(request, copy.isDue);
      copy = await copies.followCopy({ ...request, requestHash }, entryId);
    }
  };

  /** The answer of a first copy that is in the ledger on arrival, pending or undelivered. */
  const findCopy = async (request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer | null> => {
    const copy = await copies.findCopy({ ...request, requestHash }, wasDelivered);
    return copy?.kind === 'pending' ? follow(request, requestHash, copy) : copy;
  };

  return { wasDelivered, follow, findCopy };
}

type Pending = Pick<Extract<FirstCopy, { kind: 'pending' }>, 'entryId' | 'isDue'>;
