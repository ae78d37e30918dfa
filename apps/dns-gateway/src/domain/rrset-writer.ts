import { createHash } from 'node:crypto';
import type { DnsCaller } from '@corral/auth';
import {
  assertNever,
  type BeginOutcome,
  type DeliveryCheck,
  type RrsetKey,
  type RrsetWrite,
  type WriteEnd,
  type WriteLease,
  type WriteLedger,
} from '@corral/dns-mirror';
import type { UpstreamWrite, WriteOutcome } from '@corral/hcloud';
import { DnsError, upstreamUnavailable } from '../dns-error.js';
import type { KeyedQueue } from './keyed-queue.js';
import { endOfAccepted, endOfRefused, type UpstreamAnswer } from './upstream-end.js';

/** A write whose caller, name, type and body were checked. */
export interface CheckedWrite {
  readonly caller: DnsCaller;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  /** The body as it came, null for none. */
  readonly bytes: Buffer | null;
  readonly upstream: UpstreamWrite;
}

export interface WriteAnswer extends UpstreamAnswer {
  readonly entryId: number;
}

export interface RrsetWriterDeps {
  readonly ledger: Pick<WriteLedger, 'begin' | 'finish' | 'release'>;
  readonly send: (write: UpstreamWrite) => Promise<WriteOutcome>;
  readonly queue: KeyedQueue;
  /** Whether this process saw the entry's answer delivered. */
  readonly isDelivered: (entryId: number) => boolean;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  /** How long a write waits for earlier ones to the same set before it gives up. */
  readonly turnMsMax: number;
  /** An uncertain write is settled after so long: the upstream may still be working on it. */
  readonly settleAfterMs: number;
  readonly onOutcome: (kind: WriteOutcome['kind'], caller: DnsCaller) => void;
}

export interface RrsetWriter {
  /** @throws DnsError for what is ours to refuse, and where the upstream gave no answer that could be passed on */
  write(request: CheckedWrite): Promise<WriteAnswer>;
}

const BUSY_POLL_MS = 100;
const FINISH_TRIES = 4;

/**
 * The two-transaction write: recorded as pending before it is sent, and with its outcome after. Writes to one set go
 * out one after the other; a repeated request joins its first copy.
 */
export function rrsetWriter(deps: RrsetWriterDeps): RrsetWriter {
  const { ledger, send, queue } = deps;
  // The last write of each set: only an exact repetition of that one can join it without overtaking another.
  const lastOf = new Map<string, { hash: string; answer: Promise<WriteAnswer> }>();

  const perform = async (request: CheckedWrite, requestHash: Buffer): Promise<WriteAnswer> => {
    const begun = await begin(request, requestHash);
    if (begun.kind === 'replayed') return begun;
    const outcome = await send(request.upstream);
    deps.onOutcome(outcome.kind, request.caller);
    return conclude(request, begun.lease, outcome);
  };

  const begin = async (request: CheckedWrite, requestHash: Buffer) => {
    const { caller, key, write, bytes } = request;
    const requestBody = bytes === null ? null : bytes.toString('utf8');
    const newWrite = { teamId: caller.teamId, tokenId: caller.tokenId, key, write, requestBody, requestHash };
    const givesUpAt = deps.now() + deps.turnMsMax;
    let joins = false;
    // A first copy that was seen pending shares its outcome, even if its own client has it by now.
    const wasDelivered: DeliveryCheck = (entryId, recorded) => !joins && (recorded || deps.isDelivered(entryId));
    for (;;) {
      const outcome: BeginOutcome = await ledger.begin(newWrite, wasDelivered);
      switch (outcome.kind) {
        case 'begun':
        case 'replayed':
          return outcome;
        case 'refused':
          throw quotaExceeded(outcome.limit, outcome.max);
        case 'busy':
          joins ||= outcome.identical;
          if (deps.now() + BUSY_POLL_MS > givesUpAt) throw setIsBusy();
          await deps.pause(BUSY_POLL_MS);
          break;
        default:
          assertNever(outcome);
      }
    }
  };

  const conclude = async (
    { key, write }: CheckedWrite,
    lease: WriteLease,
    outcome: WriteOutcome,
  ): Promise<WriteAnswer> => {
    const { entryId } = lease;
    switch (outcome.kind) {
      case 'accepted': {
        const end = endOfAccepted(key, write, lease.current, outcome);
        if (end === null) return leaveUncertain(lease, 'the answer lacks what answers to such a write have');
        await finish(lease, key, end);
        return { entryId, status: outcome.status, body: outcome.body };
      }
      case 'refused':
        await finish(lease, key, endOfRefused(write, lease.current, outcome));
        return { entryId, status: outcome.status, body: outcome.body };
      case 'failed':
        await ledger.release(lease, deps.settleAfterMs, outcome);
        return { entryId, status: outcome.status, body: outcome.body };
      case 'uncertain':
        return leaveUncertain(lease, outcome.reason);
      case 'unreached':
        await finish(lease, key, { state: 'unsent' });
        throw upstreamUnavailable(new Error(outcome.reason));
      case 'credentials_refused':
        await finish(lease, key, { state: 'unsent' });
        throw upstreamUnavailable(new Error(`the upstream refuses the gateway's token: ${outcome.code}`));
      case 'throttled':
        await finish(lease, key, { state: 'unsent' });
        throw new DnsError('rate_limit_exceeded', 'The upstream provider takes no more requests for a while.', {
          retryAfterSeconds: outcome.retryAfterSeconds,
        });
      default:
        return assertNever(outcome);
    }
  };

  const leaveUncertain = async (lease: WriteLease, reason: string): Promise<never> => {
    await ledger.release(lease, deps.settleAfterMs, null);
    throw upstreamUnavailable(new Error(reason));
  };

  /** The upstream has answered: a short absence of Postgres must not turn that into an uncertain write. */
  const finish = async (lease: WriteLease, key: RrsetKey, end: WriteEnd): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await ledger.finish(lease, key, end);
        return;
      } catch (error) {
        if (attempt === FINISH_TRIES) throw error;
        await deps.pause(250 * attempt);
      }
    }
  };

  return {
    write(request) {
      const set = `${request.key.zoneId}/${request.key.name}/${request.key.type}`;
      const requestHash = hashOf(request);
      const hash = requestHash.toString('base64');
      const last = lastOf.get(set);
      if (last?.hash === hash) return last.answer;
      const answer = queue
        .run(set, deps.turnMsMax, () => perform(request, requestHash))
        .then((turn) => {
          if (turn.kind === 'late') throw setIsBusy();
          return turn.value;
        });
      lastOf.set(set, { hash, answer });
      const forget = () => void (lastOf.get(set)?.answer === answer && lastOf.delete(set));
      answer.then(forget, forget);
      return answer;
    },
  };
}

function hashOf({ caller, upstream }: CheckedWrite): Buffer {
  const hash = createHash('sha256');
  for (const part of [caller.tokenId, upstream.method, ...upstream.segments]) hash.update(`${part}\0`);
  return hash.update(upstream.body ?? '').digest();
}

function setIsBusy(): DnsError {
  return new DnsError('conflict', 'Another write to this record set is not finished yet. Send the request again.');
}

function quotaExceeded(limit: 'recordsPerTeam' | 'recordsPerRrset', max: number): DnsError {
  const [what, name] = limit === 'recordsPerTeam' ? ['team', 'records_per_team'] : ['record set', 'records_per_rrset'];
  return new DnsError('resource_limit_exceeded', `A ${what} may have ${max} records. Delete some first.`, {
    details: { limits: [{ name }] },
  });
}
