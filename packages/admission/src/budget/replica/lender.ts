import { randomUUID } from 'node:crypto';
import { orLate } from '@corral/wire';
import { type BudgetState, freshState, usualLimit } from '../account/budget-state.js';
import { type BudgetGrant, type Report, renewLease } from '../account/renew-lease.js';
import type { BudgetStore } from '../budget-store.js';
import type { Findings } from './turn-keeper.js';

export interface LenderDeps {
  readonly store: BudgetStore;
  readonly project: string;
  /** Monotonic, milliseconds. */
  readonly tick: () => number;
  /** Longest wait for the store. */
  readonly timeoutMs: number;
  /** The store went away. Called once until it is back. */
  readonly onAway: (error: Error) => void;
}

/** While the store is away it is asked again so often. */
const RETRY_MS = 1_000;
/** Replicas that a process assumes which has never reached the store. */
const REPLICAS_UNKNOWN = 8;
/** What others drew since the store was last seen is not known: half of what was there is left alone. */
const CAUTION = 2;

/**
 * Renews this replica's lease with the shared account; while that is out of reach, with an account of its own that
 * holds no more than its part of the budget. Never rejects.
 */
export function lender({ store, project, tick, timeoutMs, onAway }: LenderDeps) {
  let replica = randomUUID();
  let lastShared: BudgetGrant | null = null;
  let alone: Alone | null = null;
  let retryAt = Number.NEGATIVE_INFINITY;

  const renewShared = async (findings: Findings): Promise<BudgetGrant> => {
    const madeAlone = alone?.made() ?? {};
    const report = { ...findings, replica, madeAlone, newEpoch: randomUUID() };
    const update = store.update(project, (state, now) => {
      const { state: next, lease } = renewLease(state, report, now);
      return { state: next, answer: lease };
    });
    return orLate(update, timeoutMs, () => new Error(`The store of the budget gave no answer within ${timeoutMs} ms`));
  };

  return {
    async renew(findings: Findings): Promise<BudgetGrant> {
      if (alone === null || tick() >= retryAt) {
        try {
          lastShared = await renewShared(findings);
          alone = null;
          return lastShared;
        } catch (error) {
          // That report may have arrived. Under a new name, what was granted to the old one is not used twice.
          replica = randomUUID();
          retryAt = tick() + RETRY_MS;
          if (alone === null) onAway(error as Error);
        }
      }
      alone ??= openAlone(lastShared, tick());
      return alone.renew(findings, tick());
    },
  };
}

interface Alone {
  renew(findings: Findings, now: number): BudgetGrant;
  /** Calls handed out so far, by flow. */
  made(): Record<string, number>;
}

function openAlone(last: BudgetGrant | null, now: number): Alone {
  const replicas = last?.replicas ?? REPLICAS_UNKNOWN;
  let limit = last?.reading.limit ?? null;
  // Nothing was heard of the upstream: what it has published is assumed.
  const level = (last === null || limit === null ? usualLimit : last.level) / (replicas * CAUTION);
  let state: BudgetState = freshState({ epoch: randomUUID(), now, limit: (limit ?? usualLimit) / replicas, level });
  const made: Record<string, number> = {};

  return {
    made: () => made,
    renew(findings, at) {
      limit = findings.observed?.limit ?? limit;
      const report: Report = { ...findings, ...partOf(findings, replicas), replica: 'this', newEpoch: state.epoch };
      const renewed = renewLease(state, report, at);
      state = renewed.state;
      for (const { flow, count } of renewed.lease.turns) made[flow] = (made[flow] ?? 0) + count;
      return { ...renewed.lease, replicas, reading: { ...renewed.lease.reading, limit } };
    },
  };
}

/** Scales a statement about the whole budget to one part. No free calls: only requests that wait get turns. */
function partOf({ observed }: Findings, replicas: number): Pick<Report, 'observed' | 'madeAlone' | 'freeUnused'> {
  const part =
    observed === null
      ? null
      : {
          limit: observed.limit === null ? null : observed.limit / replicas,
          remaining: Math.floor(observed.remaining / replicas),
          endedBefore: null,
        };
  return { observed: part, madeAlone: {}, freeUnused: null };
}
