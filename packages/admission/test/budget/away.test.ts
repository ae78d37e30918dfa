import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  BudgetBusy,
  type BudgetStore,
  connectBudgetStore,
  type StatementRunner,
} from '../../src/budget/budget-store.js';
import type { CallEnd } from '../../src/budget/statements.js';
import { openBudget, type UpstreamBudget } from '../../src/budget/upstream-budget.js';
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

/** Postgres as the store uses it, which answers at once, late, only when it is back, or not. */
function tableOf(clock: Clock) {
  let row = { version: 0, state: null as string | null };
  let answer: 'at once' | 'late' | 'when back' | 'never' | 'busy' = 'at once';
  let waiting: (() => void)[] = [];
  const swap = ([, version, text]: unknown[]) => {
    const isWritten = version === row.version;
    if (isWritten) row = { version: row.version + 1, state: text as string };
    return { now: clock.now(), written: isWritten ? row.version : null, ...row };
  };
  const query: StatementRunner['query'] = async ({ text, values }) => {
    if (answer === 'busy') throw new BudgetBusy('busy');
    if (answer === 'never') throw new Error('away');
    if (answer === 'when back') await new Promise<void>((resolve) => waiting.push(resolve));
    const rows = values.length === 0 ? [{ now: clock.now(), project: 'p', state: row.state }] : [swap(values)];
    if (answer === 'late' && text !== '') await new Promise<void>((resolve) => clock.after(1_500, resolve, true));
    return { rows };
  };
  const become = (how: typeof answer): void => {
    answer = how;
    for (const go of waiting) go();
    waiting = [];
  };
  return {
    become,
    connect: () => connectBudgetStore({ redisUrl: undefined, database: { query }, onError: () => undefined }),
  };
}

afterEach(() => void jest.restoreAllMocks());

function start() {
  const { clock, pass } = virtualTime();
  // The store's.
  jest.spyOn(performance, 'now').mockImplementation(clock.now);
  const table = tableOf(clock);
  const away: Error[] = [];
  const open = (): UpstreamBudget =>
    openBudget({ project: 'p', store: table.connect(), clock, onAway: (error) => away.push(error) });
  let calls = 0;
  /** Asks for a call, and lets a second pass. */
  const call = async (budget: UpstreamBudget, how: CallEnd): Promise<void> => {
    void budget.turn({ class: 'write', flow: 'acme', key: null }, { patienceMs: 5_000 }).then((turned) => {
      if (turned.kind !== 'go') return;
      calls += 1;
      budget.end(turned.turn, how);
    });
    await pass(1_000);
  };
  return { table, away, open, call, calls: () => calls, pass };
}

const states = (remaining: number): CallEnd => ({ kind: 'answered', statement: { limit: 3_600, remaining } });
/** The upstream may have counted it, and stated nothing. */
const lost: CallEnd = { kind: 'lost' };
const leftIn = async (store: BudgetStore): Promise<number> => (await store.readAll()).p?.remaining ?? Number.NaN;

describe('calls that are made while the store gives no answer', () => {
  it.each([
    ['when back', 5],
    // Every other second an exchange arrives all the same, and has a turn that nobody uses.
    ['late', 35],
  ] as const)('are charged once, if it answers %s', async (how, unused) => {
    const { table, open, call, calls, pass, away } = start();
    const budget = open();
    await call(budget, states(1_000));
    await pass(2_000);

    table.become(how);
    for (let second = 0; second < 60; second += 1) await call(budget, lost);
    table.become('at once');
    await pass(10_000);

    expect(away).toHaveLength(1);
    expect(calls()).toBe(61);
    // One call flows in each second.
    const left = await leftIn(table.connect());
    expect(left).toBeGreaterThanOrEqual(1_000 + 72 - 60 - unused);
    expect(left).toBeLessThanOrEqual(1_000 + 75 - 60);
  });
});

const refusedFor = (ms: number): CallEnd => ({ kind: 'refused', statement: null, retryAfterMs: ms });

describe('a 429 of the upstream stops all processes', () => {
  it('until its time, though the store goes away', async () => {
    const { table, open, call, calls } = start();
    const budget = open();
    await call(budget, states(1_000));
    await call(budget, refusedFor(60_000));
    const before = calls();

    table.become('never');
    for (let second = 0; second < 50; second += 1) await call(budget, lost);
    expect(calls()).toBe(before);

    for (let second = 0; second < 40; second += 1) await call(budget, lost);
    expect(calls()).toBeGreaterThan(before);
  });

  it.each(['never', 'when back'] as const)('if the store could not be told of it (it answers %s)', async (how) => {
    const { table, open, call, calls, pass } = start();
    const [one, two] = [open(), open()];
    await call(one, states(1_000));
    await call(two, states(999));
    table.become(how);
    await call(one, refusedFor(60_000));
    await pass(5_000);

    table.become('at once');
    await pass(3_000);
    const before = calls();
    for (let time = 0; time < 20; time += 1) {
      await call(one, lost);
      await call(two, lost);
    }

    expect(calls()).toBe(before);
  });
});

describe('a process that finds no moment between the changes of others', () => {
  it('tells and asks again, and does not go on alone', async () => {
    const { table, open, call, calls, pass, away } = start();
    const [one, two] = [open(), open()];
    await call(one, states(1_000));

    table.become('busy');
    await call(one, refusedFor(60_000));
    await pass(2_000);
    table.become('at once');
    await pass(2_000);
    const before = calls();
    for (let time = 0; time < 20; time += 1) await call(two, lost);

    expect(away).toEqual([]);
    expect(calls()).toBe(before);
  });
});
