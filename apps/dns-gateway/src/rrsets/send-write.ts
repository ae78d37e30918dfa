import { extendScope, NotAdmitted, narrowScope, outside, places, type RequestScope, waiting } from '@corral/admission';
import type { DnsCaller } from '@corral/auth';
import { assertNever } from '@corral/contracts';
import {
  type BeginOutcome,
  type DeliveryCheck,
  type FirstCopy,
  type PerformedWrite,
  performWrite,
  type RrsetKey,
  type RrsetOwner,
  type RrsetWrite,
  SETTLE_LEASE_MS,
  type WriteLease,
} from '@corral/dns-data';
import type { UpstreamWrite } from '@corral/hcloud';
import { followActions } from '../actions/follow-actions.js';
import {
  changesAreHeld,
  DnsError,
  databaseUnavailable,
  quotaExceeded,
  setIsBusy,
  teamSuspended,
  tokenUnknown,
  tooManyWait,
  upstreamUnavailable,
  upstreamUsedUp,
} from '../dns-error.js';
import type { Services, WriteAnswer } from '../services.js';
import { lookAgain, settleDue, settleOwn } from './settle-writes.js';

/** A write as requested. Its name and type may be invalid. */
export interface AskedWrite {
  readonly caller: DnsCaller;
  readonly requestId: string;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
}

/** The same with checked name, type and body. */
export interface CheckedWrite extends AskedWrite {
  /** The unchanged body, or null. */
  readonly bytes: Buffer | null;
  readonly upstream: UpstreamWrite;
  /** Its deadline is that of all waits: for earlier writes to its set and for the upstream's budget. */
  readonly scope: RequestScope;
}

/**
 * Counts a write that is refused before it is sent in the audit log, and rethrows its error. A write that cannot be counted is refused
 * regardless.
 *
 * @throws always the given error. Only a DnsError is counted
 */
export async function noteRefused(services: Services, asked: AskedWrite, error: unknown): Promise<never> {
  const { caller, key, write, requestId } = asked;
  if (error instanceof DnsError) {
    const by = { owner: ownerOf(caller), tokenId: caller.tokenId, requestId };
    const refusal = { ...by, key, operation: write.operation, code: error.code };
    await services.refused.count(refusal).catch((error) => services.log.warn('refused write not counted', { error }));
  }
  throw error;
}

/** The owner whose quota a write of the caller counts against. */
const ownerOf = ({ kind, ownerId, teamId }: DnsCaller): RrsetOwner => ({ kind, id: ownerId, teamId });

/** How often a write is repeated that definitely did not happen. */
const REPETITIONS_MAX = 1;
/** Minimum wait of the repetition, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Performs a write for a client and returns the answer. The caller must ensure that it is the only write to its set in this
 * process.
 */
export async function sendWrite(services: Services, request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> {
  for (let attempt = request, repetitions = 0; ; repetitions += 1) {
    const answer = await sendOnce(services, attempt, requestHash);
    if (answer.kind === 'known') return answer;
    // It definitely did not happen, so it is repeated on behalf of the client.
    if (repetitions === REPETITIONS_MAX) throw upstreamUnavailable(answer.cause);
    attempt = { ...request, scope: extendScope(request.scope, services.now() + AGAIN_MS) };
  }
}

async function sendOnce(services: Services, request: CheckedWrite, requestHash: Buffer): Promise<Answered> {
  const { scope } = request;
  const { ledger, pause, upstream, config } = services;
  // An uncertain write is reserved for this process to settle for so long.
  const settleAfterMs = config.settleAfterMs + config.settleWithinMs + SETTLE_LEASE_MS;
  let isUnsent = false;
  const performed = await performWrite<Replayed | Held>({ ledger, pause, settleAfterMs }, request, {
    begin: () => begin(services, request, requestHash).catch((error: unknown) => noteRefused(services, request, error)),
    async send() {
      const outcome = await upstream.write(request.upstream, { scope });
      isUnsent = ['unreached', 'throttled', 'no_account'].includes(outcome.kind);
      return outcome;
    },
    settle: (lease) => outside(scope, () => settleOwn(services, request, lease)),
  }).catch((error: unknown) => {
    if (isUnsent) scope.signal.throwIfAborted();
    throw error;
  });
  if (performed.kind === 'replayed') return { ...performed, kind: 'known' };
  // A hold is none of the client's doing, so it does not count as refused.
  if (performed.kind === 'held') throw changesAreHeld();
  if (isUnsent) scope.signal.throwIfAborted();
  return answerOf(services, request, performed.lease, performed.result);
}

/** Enters a write into the ledger, once nothing of its owner or its set is in the way. */
async function begin(services: Services, request: CheckedWrite, requestHash: Buffer) {
  const { caller, requestId, key, write, bytes, scope } = request;
  const requestBody = bytes === null ? null : bytes.toString('utf8');
  const by = { owner: ownerOf(caller), tokenId: caller.tokenId, requestId };
  const newWrite = { ...by, key, write, requestBody, requestHash };
  for (;;) {
    const outcome = await inTurnOfOwner(services, request, () =>
      services.ledger.begin(newWrite, wasDelivered(services)),
    );
    switch (outcome.kind) {
      case 'begun':
      case 'replayed':
      case 'held':
        return outcome;
      case 'refused':
        if (!outcome.reservedByActions || services.now() >= scope.deadline) {
          throw quotaExceeded(outcome.limit, outcome.max);
        }
        await waitForRoom(services, request);
        break;
      case 'ended':
        // Revoked after the token was checked. The next request will be rejected earlier.
        throw tokenUnknown();
      case 'suspended':
        throw teamSuspended();
      case 'busy':
        if (outcome.identical) {
          const copy = await followCopy(services, request, requestHash, { ...outcome, kind: 'pending' });
          if (copy !== null) return copy;
        } else await waitForSet(services, request, outcome.isDue);
        break;
      default:
        assertNever(outcome);
    }
  }
}

async function answerOf(
  services: Services,
  request: CheckedWrite,
  lease: WriteLease,
  result: PerformedWrite,
): Promise<Answered> {
  const { entryId } = lease;
  switch (result.kind) {
    case 'accepted':
    case 'refused':
      await tellDrift(services, request, lease, result);
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
    case 'no_account':
      throw databaseUnavailable(new Error('the account of the upstream budget is out of reach'));
    case 'throttled':
      if (result.usedUp === 'places') throw tooManyWait(result.retryAfterSeconds);
      throw upstreamUsedUp(result.usedUp, {
        retryAfterSeconds: result.retryAfterSeconds,
        budget: { limit: services.upstream.budget().limit, remaining: 0, resetAt: result.resetAt },
      });
    case 'unnecessary':
      throw new Error('every request of a client is sent');
    default:
      return assertNever(result);
  }
}

async function tellDrift(
  services: Services,
  { caller, key }: CheckedWrite,
  { entryId }: WriteLease,
  result: Extract<PerformedWrite, { kind: 'accepted' | 'refused' }>,
): Promise<void> {
  if (result.kind === 'accepted' && result.wasRemoved) {
    const team = caller.kind === 'team' ? caller.ownerLabel : null;
    services.reportDrift({ name: key.name, type: key.type, team, result: 'removed' });
  }
  if (result.recheck) await lookAgain(services, entryId, key);
}

type Replayed = Extract<BeginOutcome, { kind: 'replayed' }>;
type Held = Extract<BeginOutcome, { kind: 'held' }>;

/** The outcome of one attempt. `void`: it definitely did not happen. */
type Answered = ({ readonly kind: 'known' } & WriteAnswer) | { readonly kind: 'void'; readonly cause: Error };

const BUSY_POLL_MS = 100;
/** Waits for other writes to begin are short, and take no place of the waiting writes of a token. */
const uncounted = { places: places(Number.POSITIVE_INFINITY), key: '' };

/*
 * What a write waits for before it is sent. All waits end at its deadline, or when its client disconnects.
 */

/** Writes of one owner would only make each other begin again. */
const inTurnOfOwner = (
  { owners }: Services,
  { caller, scope }: CheckedWrite,
  work: () => Promise<BeginOutcome>,
): Promise<BeginOutcome> =>
  owners.run(caller.ownerId, narrowScope(scope, { waits: uncounted }), work).catch(tooManyWaitIf);

/** @throws DnsError when no time is left to wait for the blocking write */
async function waitForSet(services: Services, { key, scope }: CheckedWrite, isDue: boolean): Promise<void> {
  const { now, pause } = services;
  if (now() + BUSY_POLL_MS > scope.deadline) throw setIsBusy();
  await outside(scope, async () => {
    if (isDue) await settleDue(services, key, scope.deadline - now());
    await pause(BUSY_POLL_MS);
  });
  scope.signal.throwIfAborted();
}

/** A client that deletes and creates in one go does not wait for the deletion's action, which frees quota shortly after. */
async function waitForRoom(services: Services, { caller, scope }: CheckedWrite): Promise<void> {
  const moved = async () => {
    const holding = await services.actions.findHolding(caller.ownerId);
    const late = AbortSignal.timeout(Math.max(0, Math.ceil(scope.deadline - services.now())));
    const signal = AbortSignal.any([scope.signal, late]);
    if (holding.length > 0) await followActions(services, holding, 'ended', signal);
    await services.pause(BUSY_POLL_MS);
  };
  await waiting(scope, moved).catch(tooManyWaitIf);
  scope.signal.throwIfAborted();
}

/** @throws always, a DnsError for a wait that was not admitted or took too long */
function tooManyWaitIf(error: unknown): never {
  throw error instanceof NotAdmitted ? tooManyWait() : error;
}

/*
 * Earlier copies of a write in the ledger, from any gateway, answered or not.
 */

/** Whether the client of an entry has received its answer. */
const wasDelivered =
  ({ answered }: Services): DeliveryCheck =>
  (entryId, recorded) =>
    recorded || answered.has(entryId);

/** @returns the outcome of a first copy, once it is known; null for none, or when it definitely did not happen */
async function followCopy(
  services: Services,
  request: CheckedWrite,
  requestHash: Buffer,
  first: FirstCopy | null,
): Promise<Replayed | null> {
  let copy = first;
  while (copy?.kind === 'pending') {
    await waitForSet(services, request, copy.isDue);
    copy = await services.copies.followCopy({ ...request, requestHash }, copy.entryId);
  }
  return copy;
}

/** The answer of a first copy that is in the ledger on arrival, pending or undelivered. */
export async function findCopy(
  services: Services,
  request: CheckedWrite,
  requestHash: Buffer,
): Promise<WriteAnswer | null> {
  const copy = await services.copies.findCopy({ ...request, requestHash }, wasDelivered(services));
  return followCopy(services, request, requestHash, copy);
}
