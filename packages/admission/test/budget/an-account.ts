import { type BudgetState, freshState } from '../../src/budget/account/budget-state.js';
import type { CallClass } from '../../src/budget/account/call-class.js';
import { type BudgetGrant, type Report, renewLease } from '../../src/budget/account/renew-lease.js';

export const START = 50_000;

type Wanting = { class?: CallClass; flow: string; count?: number; waitedMs?: number };

function aReport(of: Partial<Omit<Report, 'waiting'>> & { waiting?: Wanting[] } = {}): Report {
  const nothing = { ended: 0, returned: [], used: {}, madeAlone: {}, observed: null, refused: null, answered: false };
  const asked = { refusing: {}, promised: [] };
  const waiting = (of.waiting ?? []).map((each) => ({ class: 'write' as const, count: 1, waitedMs: 0, ...each }));
  return {
    replica: 'one',
    ...nothing,
    ...asked,
    freeUnused: null,
    known: null,
    newEpoch: 'e',
    leaves: false,
    ...of,
    waiting,
  };
}

const full = freshState({ epoch: 'e', now: START, limit: 3_600 });

/** Replicas that report to one account at times that the test controls. */
export function startAccount(state: BudgetState | null = full) {
  let now = START;
  let current = state;
  return {
    at: () => now,
    pass: (ms: number): void => {
      now += ms;
    },
    state: () => current as BudgetState,
    renew(of: Parameters<typeof aReport>[0] = {}): BudgetGrant {
      const renewed = renewLease(current, aReport(of), now);
      current = renewed.state;
      return renewed.lease;
    },
  };
}

export const anEmptyAccount = (level = 0) => startAccount(freshState({ epoch: 'e', now: START, limit: 3_600, level }));
export const turnsIn = (lease: BudgetGrant): string[] =>
  lease.turns.map(({ flow, count }) => `${flow} ${count}`).sort();
