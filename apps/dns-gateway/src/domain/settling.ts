import type { setTimeout } from 'node:timers/promises';
import {
  type ReadRrset,
  type RrsetKey,
  type RrsetWrite,
  SETTLE_LEASE_MS,
  type SettledOutcome,
  type SettlementStore,
  settleWrite,
  type WriteLease,
} from '@corral/dns-mirror';

export interface SettlingDeps {
  readonly settlements: Pick<SettlementStore, 'settle' | 'renew' | 'claimPendingOf' | 'postpone' | 'findSettled'>;
  readonly read: ReadRrset;
  readonly pause: typeof setTimeout;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
  /** Before that the upstream may still be working on the write. */
  readonly settleAfterMs: number;
  /** For so long afterwards the client waits for the upstream to answer again. */
  readonly settleWithinMs: number;
  /** For so long after an accepted write a read may not show it yet. */
  readonly graceMs: number;
}

/** A write that was sent, and whose outcome nobody knows. */
export interface UnknownWrite {
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly bytes: Buffer | null;
  readonly gone: AbortSignal;
}

export interface Settling {
  /**
   * Finds out what became of a write of this process.
   *
   * @returns null when the upstream stays away, or nobody waits any more
   */
  settleOwn(write: UnknownWrite, lease: WriteLease): Promise<SettledOutcome | null>;
  /**
   * Settles the write that is in the way of another one to its set, and whose holder is gone. Never fails: what cannot be
   * settled now is due again.
   */
  settleDue(key: RrsetKey, waitMs: number): Promise<void>;
}

/** Between two tries to read a set, and until one that could not be read is due again. */
const RETRY_MS = 500;

export function settling(deps: SettlingDeps): Settling {
  const { settlements, now } = deps;

  /** Waits for work no longer than so long; what ends later is of effect, but nobody's answer. */
  const within = async <T>(work: Promise<T>, ms: number): Promise<T | 'late'> => {
    const over = new AbortController();
    const late = deps.pause(ms, 'late' as const, { signal: over.signal }).catch(() => 'late' as const);
    work.catch(() => undefined);
    return Promise.race([work, late]).finally(() => over.abort());
  };

  return {
    async settleOwn({ key, write, bytes, gone }, { entryId, fence }) {
      const requestBody = bytes === null ? null : bytes.toString('utf8');
      const due = { entryId, fence, key, operation: write.operation, requestBody };
      await deps.pause(deps.settleAfterMs);
      for (const until = now() + deps.settleWithinMs; now() < until && !gone.aborted; ) {
        try {
          const settled = await within(settleWrite(deps, due), until - now());
          if (settled === 'late') return null;
          const outcome = settled ?? (await settlements.findSettled(entryId));
          if (outcome !== null) return outcome;
        } catch (error) {
          deps.onError(error);
        }
        await deps.pause(RETRY_MS);
      }
      return null;
    },

    async settleDue(key, waitMs) {
      try {
        const due = await settlements.claimPendingOf(key, SETTLE_LEASE_MS);
        if (due === null) return;
        const settle = settleWrite(deps, due).catch(async (error: unknown) => {
          deps.onError(error);
          await settlements.postpone(due, RETRY_MS);
        });
        await within(settle, waitMs);
      } catch (error) {
        deps.onError(error);
      }
    },
  };
}
