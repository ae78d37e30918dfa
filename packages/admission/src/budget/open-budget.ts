import { type BudgetStore, memoryStore } from './budget-store.js';
import { lender } from './replica/lender.js';
import { type Scheduler, startScheduler, type TurnTaken } from './replica/scheduler.js';

export interface BudgetOptions {
  /** Names the budget in the store. */
  readonly project: string;
  /** Where all processes that use the project share its budget. Default: this process has it to itself. */
  readonly store?: BudgetStore | undefined;
  /** The store went away. Called once until it is back. */
  readonly onAway: (error: Error) => void;
  readonly onTurn?: ((taken: TurnTaken) => void) | undefined;
  /** Wall clock, for `resetAt` only. Durations are measured on the monotonic clock. */
  readonly now?: () => number;
}

/** Longest wait for the store of the budget. */
const storeTimeoutMs = 1_000;

/** Takes part in the budget of a project: gives each call of this process its turn. */
export function openBudget({ project, store, onAway, onTurn, now = Date.now }: BudgetOptions): Scheduler {
  const tick = () => performance.now();
  const { renew } = lender({ store: store ?? memoryStore(), project, tick, timeoutMs: storeTimeoutMs, onAway });
  return startScheduler({ renew, onTurn: onTurn ?? (() => {}), now, tick });
}
