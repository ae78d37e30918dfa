import { describe, expect, it } from '@jest/globals';
import type { BudgetState } from '../../src/budget/account.js';
import type { BudgetStore } from '../../src/budget/budget-store.js';
import type { CallEnd } from '../../src/budget/statements.js';
import { openBudget, type Turned, type UpstreamBudget } from '../../src/budget/upstream-budget.js';
import type { Clock } from '../../src/request-scope.js';

/** Time that passes when the test says so. What promises cause has happened before the next timer. */
function virtualTime() {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  const settle = async (): Promise<void> => {
    for (let time = 0; time < 3; time += 1) await new Promise(setImmediate);
  };
  const clock: Clock = {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + Math.max(1, ms), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const pass = async (ms: number): Promise<void> => {
    const until = now + ms;
    for (await settle(); ; await settle()) {
      const [soonest] = [...timers].sort((one, other) => one.at - other.at);
      if (soonest === undefined || soonest.at > until) break;
      timers.delete(soonest);
      now = soonest.at;
      soonest.run();
    }
    now = until;
  };
  return { clock, pass };
}

/** A store that answers at once, late, only when it is back, or not. */
function moodyStore(clock: Clock) {
  let state: BudgetState | null = null;
  let answers: 'at once' | 'late' | 'when back' | 'never' = 'at once';
  let waiting: (() => void)[] = [];
  let updates = 0;
  const store: BudgetStore = {
    async update(_project, change) {
      updates += 1;
      if (answers === 'never') throw new Error('away');
      if (answers === 'when back') await new Promise<void>((resolve) => waiting.push(resolve));
      const changed = change(state, clock.now());
      state = changed.state;
      if (answers === 'late') await new Promise<void>((resolve) => clock.after(1_500, resolve));
      return changed.answer;
    },
  };
  const become = (how: typeof answers): void => {
    answers = how;
    for (const go of waiting) go();
    waiting = [];
  };
  return { become, store, stalled: () => waiting.length, updates: () => updates };
}

function start() {
  const { clock, pass } = virtualTime();
  const { store, ...mood } = moodyStore(clock);
  const away: Error[] = [];
  const open = (): UpstreamBudget =>
    openBudget({ project: 'p', store, clock, now: clock.now, onAway: (error) => away.push(error) });
  let calls = 0;
  const refused: { readonly turned: Turned; readonly waitedMs: number }[] = [];
  /** Asks for a call, and lets a second pass. */
  const call = async (budget: UpstreamBudget, how: CallEnd): Promise<void> => {
    const since = clock.now();
    void budget.turn({ class: 'write', flow: 'acme' }, { patienceMs: 5_000 }).then((turned) => {
      if (turned.kind !== 'go') return void refused.push({ turned, waitedMs: clock.now() - since });
      calls += 1;
      budget.end(turned.turn, how);
    });
    await pass(1_000);
  };
  return { ...mood, away, open, call, calls: () => calls, refused, pass };
}

const states = (remaining: number): CallEnd => ({ kind: 'answered', statement: { limit: 3_600, remaining } });
/** The upstream may have counted it, and stated nothing. */
const lost: CallEnd = { kind: 'lost' };

describe('while the store gives no answer', () => {
  it.each(['never', 'when back', 'late'] as const)(
    'no call is made, and who waits has its turn when the store is back (it answers %s)',
    async (how) => {
      const { become, open, call, calls, refused, pass, away } = start();
      const budget = open();
      await call(budget, states(1_000));
      await pass(2_000);

      become(how);
      for (let second = 0; second < 60; second += 1) await call(budget, lost);
      expect(calls()).toBe(1);
      become('at once');
      await pass(10_000);

      expect(away).toHaveLength(1);
      expect(calls() - 1 + refused.length).toBe(60);
      expect(calls()).toBeGreaterThan(1);
      for (const { waitedMs, turned } of refused) {
        expect(waitedMs).toBeGreaterThanOrEqual(5_000);
        expect(waitedMs).toBeLessThanOrEqual(7_000);
        expect(turned).toEqual({ kind: 'no_account' });
      }
    },
  );
});

it('has one request to the store at a time, also when it gives no answer', async () => {
  const { become, stalled, open, call, calls, pass } = start();
  const budget = open();
  await call(budget, states(1_000));
  become('when back');
  for (let second = 0; second < 20; second += 1) await call(budget, lost);

  expect(stalled()).toBe(1);
  become('at once');
  await pass(3_000);
  await call(budget, lost);
  expect(calls()).toBeGreaterThan(1);
});

it('asks the store once for requests whose patience ends within 25 ms', async () => {
  const { become, updates, open, pass } = start();
  const budget = open();
  become('never');
  await pass(1_000);
  const before = updates();
  const patience = Array.from({ length: 100 }, (_, index) => 500 + index);
  const turns = patience.map((patienceMs) => budget.turn({ class: 'write', flow: 'acme' }, { patienceMs }));
  await pass(700);

  expect(await Promise.all(turns)).toEqual(patience.map(() => ({ kind: 'no_account' })));
  expect(updates() - before).toBeLessThanOrEqual(1 + 100 / 25 + 1);
});

const refusedFor = (ms: number): CallEnd => ({ kind: 'refused', statement: null, retryAfterMs: ms });

describe('a 429 of the upstream stops all processes', () => {
  it.each(['never', 'when back'] as const)('if the store could not be told of it (it answers %s)', async (how) => {
    const { become, open, call, calls, pass } = start();
    const [one, two] = [open(), open()];
    await call(one, states(1_000));
    await call(two, states(999));
    const turned = one.turn({ class: 'write', flow: 'acme' }, { patienceMs: 5_000 });
    await pass(100);
    const granted = await turned;
    if (granted.kind !== 'go') throw new Error('It has its turn while the store is there.');
    become(how);
    one.end(granted.turn, refusedFor(60_000));
    await pass(5_000);

    become('at once');
    await pass(3_000);
    const before = calls();
    for (let time = 0; time < 20; time += 1) {
      await call(one, lost);
      await call(two, lost);
    }

    expect(calls()).toBe(before);
  });
});
