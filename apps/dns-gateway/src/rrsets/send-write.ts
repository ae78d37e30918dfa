import {
  extendScope,
  type FairQueue,
  NotAdmitted,
  narrowScope,
  outside,
  places,
  type RequestScope,
  waiting,
} from '@corral/admission';
import type { DnsCaller } from '@corral/auth';
import {
  assertNever,
  type BeginOutcome,
  type CopyStore,
  type DeliveryCheck,
  type DriftReporter,
  type FirstCopy,
  type PerformedWrite,
  performWrite,
  type RrsetKey,
  type RrsetWrite,
  type UpstreamAnswer,
  type WriteLease,
  type WriteLedger,
} from '@corral/dns-data';
import type { UpstreamWrite, WriteOptions, WriteOutcome } from '@corral/hcloud';
import {
  changesAreHeld,
  quotaExceeded,
  setIsBusy,
  tokenUnknown,
  tooManyWait,
  upstreamUnavailable,
  upstreamUsedUp,
} from '../dns-error.js';
import { type NoteRefused, ownerOf } from './access.js';
import type { LookAgain, Settling } from './settling.js';

/** A write with checked caller, name, type and body. */
export interface CheckedWrite {
  readonly caller: DnsCaller;
  readonly requestId: string;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  /** The unchanged body, or null. */
  readonly bytes: Buffer | null;
  readonly upstream: UpstreamWrite;
  /** Its deadline is that of all waits: for earlier writes to its set and for the upstream's budget. */
  readonly scope: RequestScope;
}

export interface WriteAnswer extends UpstreamAnswer {
  readonly entryId: number;
}

/** Audit data of a write that is refused before it is sent. */
export function refusalOf({ caller, requestId, key, write }: CheckedWrite) {
  return { caller, requestId, key, operation: write.operation };
}

export interface SendWriteDeps {
  readonly ledger: Pick<WriteLedger, 'begin' | 'finish' | 'release'>;
  readonly copies: CopyStore;
  readonly send: (write: UpstreamWrite, options: Required<WriteOptions>) => Promise<WriteOutcome>;
  readonly pause: (ms: number) => Promise<unknown>;
  /** The clock of scopes. */
  readonly now: () => number;
  /** Takes one write of each owner at a time. */
  readonly owners: Pick<FairQueue, 'run'>;
  /** Reads a set again that was changed by others. */
  readonly lookAgain: LookAgain;
  readonly reportDrift: DriftReporter;
  /** The upstream's hourly request limit, if known. */
  readonly budgetLimit: () => number | null;
  readonly noteRefused: NoteRefused;
  readonly settling: Settling;
  /** How long an uncertain write is reserved for this process to settle, in milliseconds. */
  readonly settleHoldMs: number;
  /** Waits until an action that holds quota of the owner has ended, within the scope. */
  readonly roomMoves: (ownerId: string, scope: RequestScope) => Promise<void>;
  /** Whether this process saw the entry's answer delivered. */
  readonly isDelivered: (entryId: number) => boolean;
}

/** How often a write is repeated that definitely did not happen. */
const REPETITIONS_MAX = 1;
/** Minimum wait of the repetition, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Performs a write for a client and returns the answer. The caller must ensure that it is the only write to its set in this
 * process.
 */
export function sendWrite(deps: SendWriteDeps) {
  const { ledger, now } = deps;
  const waits = writeWaits(deps);
  const copies = firstCopies(deps, waits);

  const perform = async (request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    for (let attempt = request, repetitions = 0; ; repetitions += 1) {
      const answer = await performOnce(attempt, requestHash);
      if (answer.kind === 'known') return answer;
      // It definitely did not happen, so it is repeated on behalf of the client.
      if (repetitions === REPETITIONS_MAX) throw upstreamUnavailable(answer.cause);
      attempt = { ...request, scope: extendScope(request.scope, now() + AGAIN_MS) };
    }
  };

  const performOnce = async (request: CheckedWrite, requestHash: Buffer): Promise<Answered> => {
    const { scope } = request;
    const turn = upstreamTurn(scope);
    let isUnsent = false;
    const send = async () => {
      const options = { patienceMs: Math.max(0, scope.deadline - now()), signal: scope.signal, ...turn };
      const outcome = await outside(scope, () => deps.send(request.upstream, options));
      isUnsent = outcome.kind === 'unreached' || outcome.kind === 'throttled';
      return outcome;
    };
    const performed = await performWrite<Replayed | Held>({ ...deps, settleAfterMs: deps.settleHoldMs }, request, {
      begin: () => begin(request, requestHash).catch((error: unknown) => deps.noteRefused(refusalOf(request), error)),
      send,
      settle: (lease) => outside(scope, () => deps.settling.settleOwn(request, lease)),
    }).catch((error: unknown) => {
      if (isUnsent) scope.signal.throwIfAborted();
      throw error;
    });
    if (performed.kind === 'replayed') return { ...performed, kind: 'known' };
    // Not counted as refused: a hold is none of the client's doing.
    if (performed.kind === 'held') throw changesAreHeld();
    const { lease, result } = performed;
    if (isUnsent) scope.signal.throwIfAborted();
    if (isUnsent && turn.wasFull()) {
      throw tooManyWait(result.kind === 'throttled' ? result.retryAfterSeconds : undefined);
    }
    return answerOf(request, lease, result);
  };

  const begin = async (request: CheckedWrite, requestHash: Buffer) => {
    const { caller, requestId, key, write, bytes, scope } = request;
    const requestBody = bytes === null ? null : bytes.toString('utf8');
    const by = { owner: ownerOf(caller), tokenId: caller.tokenId, requestId };
    const newWrite = { ...by, key, write, requestBody, requestHash };
    for (;;) {
      const outcome = await waits.forOwner(request, () => ledger.begin(newWrite, copies.wasDelivered));
      switch (outcome.kind) {
        case 'begun':
        case 'replayed':
        case 'held':
          return outcome;
        case 'refused':
          if (!outcome.reservedByActions || now() >= scope.deadline) throw quotaExceeded(outcome.limit, outcome.max);
          await waits.forRoom(request);
          break;
        case 'ended':
          // Revoked after the token was checked. The next request will be rejected earlier.
          throw tokenUnknown();
        case 'busy':
          if (outcome.identical) {
            const copy = await copies.follow(request, requestHash, outcome);
            if (copy !== null) return copy;
          } else await waits.forSet(request, outcome.isDue);
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

  return { perform, findCopy: copies.findCopy };
}

type Replayed = Extract<BeginOutcome, { kind: 'replayed' }>;
type Held = Extract<BeginOutcome, { kind: 'held' }>;

/** The outcome of one attempt. `void`: it definitely did not happen. */
type Answered = ({ readonly kind: 'known' } & WriteAnswer) | { readonly kind: 'void'; readonly cause: Error };

const BUSY_POLL_MS = 100;
/** Waits for the transactions of other writes are short, and take no place of the waiting writes of a token. */
const uncounted = { places: places(Number.POSITIVE_INFINITY), key: '' };

/** What a write waits for before it is sent. All waits end at its deadline, or when its client disconnects. */
function writeWaits({ owners, settling, roomMoves, pause, now }: SendWriteDeps) {
  return {
    /** Writes of one owner take the same lock. Waiting here occupies no database connection. */
    forOwner: ({ caller, scope }: CheckedWrite, work: () => Promise<BeginOutcome>): Promise<BeginOutcome> =>
      owners.run(caller.ownerId, narrowScope(scope, { waits: uncounted }), work).catch(tooManyWaitIf),

    /** @throws DnsError when no time is left to wait for the blocking write */
    async forSet({ key, scope }: CheckedWrite, isDue: boolean): Promise<void> {
      if (now() + BUSY_POLL_MS > scope.deadline) throw setIsBusy();
      await outside(scope, async () => {
        if (isDue) await settling.settleDue(key, scope.deadline - now());
        await pause(BUSY_POLL_MS);
      });
      scope.signal.throwIfAborted();
    },

    /** A client that deletes and creates in one go does not wait for the deletion's action, which frees quota shortly after. */
    async forRoom({ caller, scope }: CheckedWrite): Promise<void> {
      const moved = async () => {
        await roomMoves(caller.ownerId, scope);
        await pause(BUSY_POLL_MS);
      };
      await waiting(scope, moved).catch(tooManyWaitIf);
      scope.signal.throwIfAborted();
    },
  };
}

/** @throws always, a DnsError for a wait that was not admitted or took too long */
function tooManyWaitIf(error: unknown): never {
  throw error instanceof NotAdmitted ? tooManyWait() : error;
}

/** Lets a write wait for its turn at the upstream, if its token has a place for one more. */
function upstreamTurn(scope: RequestScope) {
  let wasFull = false;
  return {
    wasFull: () => wasFull,
    enterQueue: (): (() => void) | null => {
      const { promise: left, resolve: leave } = Promise.withResolvers<void>();
      let isIn = false;
      const wait = (): Promise<void> => {
        isIn = true;
        return left;
      };
      waiting(scope, wait).catch(() => undefined);
      wasFull ||= !isIn;
      return isIn ? leave : null;
    },
  };
}

type Pending = Pick<Extract<FirstCopy, { kind: 'pending' }>, 'entryId' | 'isDue'>;

/** Finds earlier copies of a write in the ledger, from any gateway, answered or not. */
function firstCopies({ copies, isDelivered }: SendWriteDeps, { forSet }: ReturnType<typeof writeWaits>) {
  /** Whether the client of an entry has received its answer. */
  const wasDelivered: DeliveryCheck = (entryId, recorded) => recorded || isDelivered(entryId);

  /** @returns the outcome of a pending first copy, or null when it definitely did not happen */
  const follow = async (request: CheckedWrite, requestHash: Buffer, { entryId, isDue }: Pending) => {
    for (let copy: FirstCopy | null = { kind: 'pending', entryId, isDue }; ; ) {
      if (copy === null || copy.kind === 'replayed') return copy;
      await forSet(request, copy.isDue);
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
