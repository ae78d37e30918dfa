import type { RequestScope } from '@corral/admission';
import {
  type DriftReporter,
  type ReadRrset,
  type RrsetKey,
  type RrsetWrite,
  SETTLE_LEASE_MS,
  type SettledOutcome,
  type SettlementStore,
  settleWrite,
  type WriteLease,
  type ZoneSyncStore,
} from '@corral/dns-data';
import { answerWithin } from '@corral/service';

export interface SettlingDeps {
  readonly settlements: Pick<SettlementStore, 'settle' | 'renew' | 'takePendingOf' | 'postpone' | 'findSettled'>;
  readonly read: ReadRrset;
  readonly pause: (ms: number) => Promise<unknown>;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
  /** Milliseconds during which the upstream may still be processing the write. */
  readonly settleAfterMs: number;
  /** Milliseconds after that during which the client waits for the upstream to answer. */
  readonly settleWithinMs: number;
  /** Milliseconds after an accepted write during which a read may not show it yet. */
  readonly graceMs: number;
}

/** A write that was sent and whose outcome is unknown. */
export interface UnknownWrite {
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly bytes: Buffer | null;
  readonly scope: Pick<RequestScope, 'signal'>;
}

export interface Settling {
  /**
   * Determines the outcome of a write of this process.
   *
   * @returns null when the upstream stays unavailable, or the client has disconnected
   */
  settleOwn(write: UnknownWrite, lease: WriteLease): Promise<SettledOutcome | null>;
  /**
   * Settles the pending write that blocks another one to its set, and whose holder is gone. Never fails: what cannot be settled
   * now is due again later.
   */
  settleDue(key: RrsetKey, waitMs: number): Promise<void>;
}

/** Delay between two reads of a set, and until an unreadable one is due again. */
const RETRY_MS = 500;

export function settling(deps: SettlingDeps): Settling {
  const { settlements, now } = deps;

  return {
    async settleOwn({ key, write, bytes, scope }, { entryId, fence, owner }) {
      const requestBody = bytes === null ? null : bytes.toString('utf8');
      const due = { entryId, fence, owner, key, operation: write.operation, requestBody };
      await deps.pause(deps.settleAfterMs);
      for (const until = now() + deps.settleWithinMs; now() < until && !scope.signal.aborted; ) {
        try {
          const settled = await answerWithin(settleWrite(deps, due), until - now(), 'late' as const);
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
        const due = await settlements.takePendingOf(key, SETTLE_LEASE_MS);
        if (due === null) return;
        const settle = settleWrite(deps, due).catch(async (error: unknown) => {
          deps.onError(error);
          await settlements.postpone(due, RETRY_MS);
        });
        await answerWithin(settle, waitMs, undefined);
      } catch (error) {
        deps.onError(error);
      }
    },
  };
}

interface LookAgainDeps {
  readonly mirror: Pick<ZoneSyncStore, 'readClock' | 'isContested' | 'observe'>;
  readonly settlements: Pick<SettlementStore, 'forgetRecheck'>;
  readonly read: ReadRrset;
  readonly reportDrift: DriftReporter;
  readonly onError: (error: unknown) => void;
  readonly pause: (ms: number) => Promise<unknown>;
  /** Milliseconds after an accepted write during which a read may not show it yet. */
  readonly graceMs: number;
  /** Milliseconds for which the answer waits for the read, which continues afterwards. */
  readonly waitMsMax: number;
}

export type LookAgain = (entryId: number, key: RrsetKey) => Promise<void>;

/**
 * Reads a set again when the upstream's answer to a write shows a change by others, so that the team sees the actual state once
 * it has that answer. If this fails, the reconciler reads it later, because the entry stays due for a recheck. Never fails.
 */
export const lookAgain =
  (deps: LookAgainDeps): LookAgain =>
  async (entryId, key) => {
    await answerWithin(look(deps, entryId, key).catch(deps.onError), deps.waitMsMax, undefined);
  };

/** Timestamps have a resolution of one millisecond: the read must start in a later one than the write ended in. */
const CLOCK_STEP_MS = 2;

async function look(deps: LookAgainDeps, entryId: number, key: RrsetKey): Promise<void> {
  const { mirror, settlements, reportDrift, graceMs } = deps;
  await deps.pause(CLOCK_STEP_MS);
  const readAt = await mirror.readClock();
  if (await mirror.isContested(key, readAt, graceMs)) return;
  const found = await deps.read(key, 'recheck');
  const observation = await mirror.observe({ key, found, readAt }, { graceMs, purpose: 'sync' });
  reportDrift(observation);
  if (observation.result !== 'skipped') await settlements.forgetRecheck(entryId);
}
