import {
  assertNever,
  type Conclusion,
  concludeWrite,
  type DriftReporter,
  settledAnswer,
  type WriteLease,
  type WriteLedger,
} from '@corral/dns-mirror';
import type { UpstreamWrite, WriteOptions, WriteOutcome } from '@corral/hcloud';
import {
  ClientGone,
  quotaExceeded,
  tokenUnknown,
  tooManyWait,
  upstreamUnavailable,
  upstreamUsedUp,
} from '../dns-error.js';
import { type CheckedWrite, refusalOf, type WriteAnswer } from './checked-write.js';
import type { FirstCopies } from './first-copies.js';
import type { LookAgain } from './look-again.js';
import type { NoteRefused } from './note-refused.js';
import { ownerOf } from './rrset-access.js';
import type { Settling } from './settling.js';
import type { WriteWaits } from './write-waits.js';

export interface PerformWriteDeps {
  readonly ledger: Pick<WriteLedger, 'begin' | 'finish' | 'release'>;
  readonly send: (write: UpstreamWrite, options: Required<WriteOptions>) => Promise<WriteOutcome>;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** Reads a set once more that somebody else has changed. */
  readonly lookAgain: LookAgain;
  readonly reportDrift: DriftReporter;
  /** How many the upstream grants per hour, where it has said so. */
  readonly budgetLimit: () => number | null;
  readonly noteRefused: NoteRefused;
  readonly settling: Pick<Settling, 'settleOwn'>;
  /** For so long an uncertain write is this process's to settle. */
  readonly settleHoldMs: number;
}

/** How often a write is sent again that surely did not happen. */
const REPETITIONS_MAX = 1;
/** For so long at least it may wait then. */
const AGAIN_MS = 1_000;

/**
 * The two-transaction write: recorded as pending before it is sent, and with its outcome after. The caller sees to it that
 * it is the only one of its set.
 */
export function performWrite(
  deps: PerformWriteDeps,
  { placesOf, inTurn, waitForSet, waitForRoom }: WriteWaits,
  { wasDelivered, follow }: FirstCopies,
): (request: CheckedWrite, requestHash: Buffer) => Promise<WriteAnswer> {
  const { ledger, send } = deps;

  const perform = async (request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    for (let repetitions = 0; ; repetitions += 1) {
      const deadline = repetitions === 0 ? request.deadline : Math.max(request.deadline, deps.now() + AGAIN_MS);
      const answer = await performOnce({ ...request, deadline }, requestHash);
      if (answer.kind === 'known') return answer;
      // It surely did not happen: what its client would do now is done for it.
      if (repetitions === REPETITIONS_MAX) throw upstreamUnavailable(answer.cause);
    }
  };

  const performOnce = async (request: CheckedWrite, requestHash: Buffer): Promise<Performed> => {
    const begun = await begin(request, requestHash).catch((error: unknown) =>
      deps.noteRefused(refusalOf(request), error),
    );
    if (begun.kind === 'replayed') return { ...begun, kind: 'known' };
    const queue = placesOf(request);
    const patienceMs = Math.max(0, request.deadline - deps.now());
    const goOn = request.setAside();
    const options = { patienceMs, signal: request.gone, enterQueue: queue.enter };
    const outcome = await send(request.upstream, options).finally(goOn);
    const answer = conclude(request, begun.lease, outcome);
    const isUnsent = outcome.kind === 'unreached' || outcome.kind === 'throttled';
    if (!isUnsent || !(request.gone.aborted || queue.wasFull())) return answer;
    await answer.catch(() => undefined);
    if (request.gone.aborted) throw new ClientGone();
    throw outcome.kind === 'throttled' ? tooManyWait(outcome.retryAfterSeconds) : tooManyWait();
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
          return outcome;
        case 'refused':
          if (!outcome.heldByActions || deps.now() >= request.deadline) throw quotaExceeded(outcome.limit, outcome.max);
          await waitForRoom(request);
          break;
        case 'ended':
          // Between the check of the token and now: the next request would not get this far.
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

  const conclude = async (request: CheckedWrite, lease: WriteLease, outcome: WriteOutcome): Promise<Performed> => {
    const { entryId } = lease;
    const concluded = await concludeWrite({ ...deps, settleAfterMs: deps.settleHoldMs }, request, lease, outcome);
    switch (concluded.kind) {
      case 'accepted':
      case 'refused':
        await tellDrift(request, lease, concluded);
        return { kind: 'known', entryId, status: concluded.status, body: concluded.body };
      case 'uncertain':
        return settle(request, lease, new Error(concluded.reason));
      case 'unreached':
        throw upstreamUnavailable(new Error(concluded.reason));
      case 'credentials_refused':
        throw upstreamUnavailable(new Error(`the upstream refuses the gateway's token: ${concluded.code}`), {
          waitingHelps: false,
        });
      case 'throttled':
        throw upstreamUsedUp(concluded.usedUp, {
          retryAfterSeconds: concluded.retryAfterSeconds,
          budget: { limit: deps.budgetLimit(), remaining: 0, resetAt: concluded.resetAt },
        });
      default:
        return assertNever(concluded);
    }
  };

  const settle = async (request: CheckedWrite, lease: WriteLease, cause: Error): Promise<Performed> => {
    const { entryId } = lease;
    const settled = await deps.settling.settleOwn(request, lease).finally(request.setAside());
    if (settled === null) {
      await ledger.release(lease, 0, null);
      throw upstreamUnavailable(cause);
    }
    if (!settled.applied) return { kind: 'void', cause };
    const { key, write } = request;
    const found = { entryId, key, operation: write.operation, found: settled.found };
    return { kind: 'known', entryId, ...settledAnswer(found, settled.at) };
  };

  const tellDrift = async (
    { caller, key }: CheckedWrite,
    { entryId }: WriteLease,
    concluded: Extract<Conclusion, { kind: 'accepted' | 'refused' }>,
  ): Promise<void> => {
    if (concluded.kind === 'accepted' && concluded.wasRemoved) {
      const team = caller.kind === 'team' ? caller.ownerLabel : null;
      deps.reportDrift({ name: key.name, type: key.type, team, result: 'removed' });
    }
    if (concluded.recheck) await deps.lookAgain(entryId, key);
  };

  return perform;
}

/** What one call came to: `void` when it surely did not happen. */
type Performed = ({ readonly kind: 'known' } & WriteAnswer) | { readonly kind: 'void'; readonly cause: Error };
