import type { WriteOutcome } from '@corral/hcloud';
import { assertNever, type RrsetKey, type RrsetWrite } from './rrset-write.js';
import { endOfAccepted, endOfRefused, type UpstreamAnswer } from './upstream-end.js';
import type { WriteEnd, WriteLease, WriteLedger } from './write-ledger.js';

export interface ConcludeDeps {
  readonly ledger: Pick<WriteLedger, 'finish' | 'release'>;
  readonly pause: (ms: number) => Promise<unknown>;
  /** An uncertain write may be settled by anybody after so long: the upstream may still be working on it. */
  readonly settleAfterMs: number;
}

type Unsent = Extract<WriteOutcome, { kind: 'unreached' | 'credentials_refused' | 'throttled' }>;

/** What came of a write that was sent, as far as its entry in the ledger tells. */
export type Conclusion =
  /** `rrset`: what the mirror now holds of the set, null when it is gone. */
  | ({ kind: 'accepted'; rrset: string | null; wasRemoved: boolean; recheck: boolean } & UpstreamAnswer)
  /** `recheck`: the answer makes no sense by the mirror, so somebody else has changed the set. */
  | ({ kind: 'refused'; recheck: boolean } & UpstreamAnswer)
  /** Nobody knows whether it happened: the entry stays pending until it is settled. */
  | { kind: 'uncertain'; reason: string }
  /** It surely never arrived. */
  | Unsent;

const FINISH_TRIES = 4;

/** Brings the outcome of a call into the ledger: the second transaction of a write. */
export async function concludeWrite(
  deps: ConcludeDeps,
  { key, write }: { readonly key: RrsetKey; readonly write: RrsetWrite },
  lease: WriteLease,
  outcome: WriteOutcome,
): Promise<Conclusion> {
  const leaveUncertain = async (reason: string, answer: UpstreamAnswer | null = null): Promise<Conclusion> => {
    await deps.ledger.release(lease, deps.settleAfterMs, answer);
    return { kind: 'uncertain', reason };
  };
  switch (outcome.kind) {
    case 'accepted': {
      const end = endOfAccepted(key, write, lease.current, outcome);
      if (end === null) return leaveUncertain('the answer lacks what answers to such a write have');
      await finish(deps, lease, key, end);
      return { ...outcome, rrset: end.rrset, wasRemoved: end.wasRemoved ?? false, recheck: end.recheck };
    }
    case 'refused': {
      const end = endOfRefused(write, lease.current, outcome);
      await finish(deps, lease, key, end);
      return { ...outcome, recheck: end.recheck };
    }
    case 'failed':
      return leaveUncertain(`the upstream answered ${outcome.status}`, outcome);
    case 'uncertain':
      return leaveUncertain(outcome.reason);
    case 'unreached':
    case 'credentials_refused':
      await finish(deps, lease, key, { state: 'unsent', code: 'upstream_unavailable' });
      return outcome;
    case 'throttled':
      await finish(deps, lease, key, { state: 'unsent', code: 'rate_limit_exceeded' });
      return outcome;
    default:
      return assertNever(outcome);
  }
}

/** The upstream has answered: a short absence of Postgres must not turn that into an uncertain write. */
async function finish({ ledger, pause }: ConcludeDeps, lease: WriteLease, key: RrsetKey, end: WriteEnd): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await ledger.finish(lease, key, end);
      return;
    } catch (error) {
      if (attempt === FINISH_TRIES) throw error;
      await pause(250 * attempt);
    }
  }
}
