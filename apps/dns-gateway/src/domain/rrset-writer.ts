import { createHash } from 'node:crypto';
import type { DnsCaller } from '@corral/auth';
import {
  assertNever,
  type BeginOutcome,
  type Conclusion,
  type CopyStore,
  concludeWrite,
  type DeliveryCheck,
  type DriftReporter,
  type FirstCopy,
  type RrsetKey,
  type RrsetWrite,
  settledAnswer,
  type UpstreamAnswer,
  type WriteLease,
  type WriteLedger,
} from '@corral/dns-mirror';
import type { UpstreamWrite, WriteOptions, WriteOutcome } from '@corral/hcloud';
import type { PlacesPerKey } from '@corral/rate-limit';
import {
  ClientGone,
  quotaExceeded,
  setIsBusy,
  tokenUnknown,
  tooManyWait,
  upstreamUnavailable,
  upstreamUsedUp,
} from '../dns-error.js';
import { type Audience, audienceOf } from './audience.js';
import type { KeyedQueue } from './keyed-queue.js';
import type { LookAgain } from './look-again.js';
import type { NoteRefused } from './note-refused.js';
import { ownerOf } from './rrset-access.js';
import type { Settling } from './settling.js';

/** A write whose caller, name, type and body were checked. */
export interface CheckedWrite {
  readonly caller: DnsCaller;
  readonly requestId: string;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  /** The body as it came, null for none. */
  readonly bytes: Buffer | null;
  readonly upstream: UpstreamWrite;
  /** Until when it may wait, on the writer's clock: for earlier writes to its set and for the upstream's budget. */
  readonly deadline: number;
  /** Aborted when its client goes away. */
  readonly gone: AbortSignal;
  /** Does not count it as work in flight while it waits. @returns counts it again */
  readonly setAside: () => () => void;
}

export interface WriteAnswer extends UpstreamAnswer {
  readonly entryId: number;
}

export interface RrsetWriterDeps {
  readonly ledger: Pick<WriteLedger, 'begin' | 'finish' | 'release'>;
  readonly copies: CopyStore;
  readonly send: (write: UpstreamWrite, options: Required<WriteOptions>) => Promise<WriteOutcome>;
  /** Of a token's waiting writes. */
  readonly places: PlacesPerKey;
  readonly queue: KeyedQueue;
  /** Whether this process saw the entry's answer delivered. */
  readonly isDelivered: (entryId: number) => boolean;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** Reads a set once more that somebody else has changed. */
  readonly lookAgain: LookAgain;
  readonly reportDrift: DriftReporter;
  /** How many the upstream grants per hour, where it has said so. */
  readonly budgetLimit: () => number | null;
  readonly noteRefused: NoteRefused;
  readonly settling: Settling;
  /** Waits until an action has ended that holds room of an owner, for so long at most. */
  readonly roomMoves: (ownerId: string, waitMs: number, gone: AbortSignal) => Promise<void>;
  /** For so long an uncertain write is this process's to settle. */
  readonly settleHoldMs: number;
}

export interface RrsetWriter {
  /**
   * @throws DnsError for what is ours to refuse, and where the upstream gave no answer that could be passed on
   * @throws ClientGone when nobody waits for it any more and nothing was sent
   */
  write(request: CheckedWrite): Promise<WriteAnswer>;
}

const BUSY_POLL_MS = 100;
/** How often a write is sent again that surely did not happen. */
const REPETITIONS_MAX = 1;
/** For so long at least it may wait then. */
const AGAIN_MS = 1_000;

/**
 * The two-transaction write: recorded as pending before it is sent, and with its outcome after. Writes to one set go
 * out one after the other; a repeated request joins its first copy.
 */
export function rrsetWriter(deps: RrsetWriterDeps): RrsetWriter {
  const { ledger, send, queue } = deps;
  // The writes that wait or are under way here, by what an exact repetition of them would be.
  const underWay = new Map<string, { audience: Audience; answer: Promise<WriteAnswer> }>();

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

  /** The places in which a write waits are those of its token, whatever it waits for. */
  const placesOf = ({ caller, setAside }: CheckedWrite) => {
    let isFull = false;
    const enter = (): (() => void) | null => {
      const leave = deps.places.enter(caller.tokenId);
      isFull ||= leave === null;
      if (leave === null) return null;
      const goOn = setAside();
      return () => {
        leave();
        goOn();
      };
    };
    return { enter, wasFull: () => isFull };
  };

  /** One owner's writes take the same lock: whoever waits for it here holds no connection that others need. */
  const inTurn = async (request: CheckedWrite, work: () => Promise<BeginOutcome>): Promise<BeginOutcome> => {
    const waitMs = Math.max(0, request.deadline - deps.now());
    const wait = { waitMs, gone: request.gone, enterQueue: request.setAside };
    const turn = await queue.run(`owner/${request.caller.ownerId}`, wait, work);
    if (turn.kind === 'done') return turn.value;
    throw turn.kind === 'gone' ? new ClientGone() : tooManyWait();
  };

  /** Whether the client of an entry has its answer. */
  const wasDelivered: DeliveryCheck = (entryId, recorded) => recorded || deps.isDelivered(entryId);

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

  /** @throws DnsError when there is no time left to wait for a write that is in the way */
  const waitForSet = async ({ key, deadline, gone, setAside }: CheckedWrite, isDue: boolean): Promise<void> => {
    if (deps.now() + BUSY_POLL_MS > deadline) throw setIsBusy();
    const settled = isDue ? deps.settling.settleDue(key, deadline - deps.now()) : Promise.resolve();
    await settled.then(() => deps.pause(BUSY_POLL_MS)).finally(setAside());
    if (gone.aborted) throw new ClientGone();
  };

  /** @returns the outcome of a first copy under way, null when that surely did not happen */
  const follow = async (request: CheckedWrite, requestHash: Buffer, { entryId, isDue }: Pending) => {
    for (let copy: FirstCopy | null = { kind: 'pending', entryId, isDue }; ; ) {
      if (copy === null || copy.kind === 'replayed') return copy;
      await waitForSet(request, copy.isDue);
      copy = await deps.copies.followCopy({ ...request, requestHash }, entryId);
    }
  };

  /** Who deletes and creates in one go does not ask how the deletion's action ends: its room is free a moment later. */
  const waitForRoom = async (request: CheckedWrite): Promise<void> => {
    const leave = placesOf(request).enter();
    if (leave === null) throw tooManyWait();
    const waitMs = Math.max(0, request.deadline - deps.now());
    const moved = deps.roomMoves(ownerOf(request.caller).id, waitMs, request.gone);
    await moved.then(() => deps.pause(BUSY_POLL_MS)).finally(leave);
    if (request.gone.aborted) throw new ClientGone();
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

  /** The answer of a first copy that is in the ledger when this one arrives, be it under way or undelivered. */
  const findCopy = async (request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer | null> => {
    const copy = await deps.copies.findCopy({ ...request, requestHash }, wasDelivered);
    return copy?.kind === 'pending' ? follow(request, requestHash, copy) : copy;
  };

  /** Keeps its place behind earlier writes to its set, until it is known that it is none of its own. */
  const queueUp = async (set: string, request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    const found = new AbortController();
    const gone = AbortSignal.any([request.gone, found.signal]);
    const wait = { waitMs: Math.max(0, request.deadline - deps.now()), gone, enterQueue: placesOf(request).enter };
    let copy: WriteAnswer | null = null;
    const looking = queue.isBusy(set)
      ? findCopy(request, requestHash).then((answer) => {
          copy = answer;
          if (answer !== null) found.abort();
        })
      : Promise.resolve();
    looking.catch(() => undefined); // whoever leaves before the turn has another reason
    const turn = await queue.run(set, wait, async () => {
      await looking;
      return copy ?? perform(request, requestHash);
    });
    switch (turn.kind) {
      case 'done':
        return turn.value;
      case 'late':
        return deps.noteRefused(refusalOf(request), setIsBusy());
      case 'full':
        return deps.noteRefused(refusalOf(request), tooManyWait());
      case 'gone':
        if (copy !== null) return copy;
        throw new ClientGone();
      default:
        return assertNever(turn);
    }
  };

  return {
    write(request) {
      const set = `${request.key.zoneId}/${request.key.name}/${request.key.type}`;
      const requestHash = hashOf(request);
      const id = `${set} ${requestHash.toString('base64')}`;
      const first = underWay.get(id);
      // What everybody has left is about to leave the queue, too.
      if (first !== undefined && !first.audience.gone.aborted) {
        first.audience.join(request.gone);
        return first.answer.finally(request.setAside());
      }
      const audience = audienceOf(request.gone);
      const answer = queueUp(set, { ...request, gone: audience.gone }, requestHash);
      underWay.set(id, { audience, answer });
      const forget = () => void (underWay.get(id)?.answer === answer && underWay.delete(id));
      answer.then(forget, forget);
      return answer;
    },
  };
}

type Pending = Pick<Extract<FirstCopy, { kind: 'pending' }>, 'entryId' | 'isDue'>;

/** What one call came to: `void` when it surely did not happen. */
type Performed = ({ readonly kind: 'known' } & WriteAnswer) | { readonly kind: 'void'; readonly cause: Error };

function refusalOf({ caller, requestId, key, write }: CheckedWrite) {
  return { caller, requestId, key, operation: write.operation };
}

function hashOf({ caller, upstream }: CheckedWrite): Buffer {
  const hash = createHash('sha256');
  for (const part of [caller.tokenId, upstream.method, ...upstream.segments]) hash.update(`${part}\0`);
  return hash.update(upstream.body ?? '').digest();
}
