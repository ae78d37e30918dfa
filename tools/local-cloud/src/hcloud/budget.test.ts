import { describe, expect, it } from '@jest/globals';
import { Budget } from './budget.js';

const START = 1_800_000_000_000;

describe('the request budget', () => {
  it('allows a burst of the whole budget and then refuses', () => {
    const budget = new Budget(3, START);

    const granted = [1, 2, 3, 4].map(() => budget.take(START));

    expect(granted).toEqual([true, true, true, false]);
    expect(budget.state(START).refused).toBe(1);
  });

  it('refills evenly: one request per second at 3600 per hour', () => {
    const budget = new Budget(3600, START);
    budget.set({ remaining: 0 }, START);

    const granted = [999, 1000, 1001, 2000].map((ms) => budget.take(START + ms));

    expect(granted).toEqual([false, true, false, true]);
  });

  it('reports when it will be full again and never exceeds its limit', () => {
    const budget = new Budget(3600, START);
    budget.set({ remaining: 3590 }, START);

    const states = [budget.state(START), budget.state(START + 4_000), budget.state(START + 60_000)];

    expect(states).toMatchObject([
      { limit: 3600, remaining: 3590, resetsAt: START / 1000 + 10 },
      { limit: 3600, remaining: 3594, resetsAt: START / 1000 + 10 },
      { limit: 3600, remaining: 3600, resetsAt: START / 1000 + 60 },
    ]);
  });

  it('is full after a new limit and rejects invalid values', () => {
    const budget = new Budget(10, START);

    budget.set({ requestsPerHour: 20 }, START);

    expect(budget.state(START)).toMatchObject({ limit: 20, remaining: 20 });
    expect(() => budget.set({ remaining: -1 }, START)).toThrow('remaining');
  });
});
