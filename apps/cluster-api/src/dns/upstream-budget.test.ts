import type { KeptReading } from '@corral/admission';
import { describe, expect, it } from '@jest/globals';
import { upstreamBudgetReader } from './upstream-budget.js';

const waiting = { write: 0, cleanup: 0, settle: 0, recheck: 0, poll: 0, sync: 0 };
const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 21, 12, minute));
const reading = (remaining: number, minute: number): KeptReading => ({
  limit: 3_600,
  remaining,
  resetAt: at(59),
  waiting,
  flows: [],
  observedAt: at(minute),
});
const unknown = { limit: null, remaining: null, resetAt: null, observedAt: null };

function read(readAll: () => Promise<Record<string, KeptReading>>) {
  const errors: unknown[] = [];
  const budget = upstreamBudgetReader({ readAll, onError: (error) => errors.push(error), waitMs: 50 })();
  return { budget, errors };
}

describe('the budget of the upstream', () => {
  it('is that of the project that was used last', async () => {
    const { budget } = read(async () => ({ old: reading(1, 1), used: reading(2, 3), other: reading(3, 2) }));

    expect(await budget).toEqual({ limit: 3_600, remaining: 2, resetAt: at(59), observedAt: at(3) });
  });

  it('is unknown before the upstream was used', async () => {
    const { budget, errors } = read(async () => ({}));

    expect([await budget, errors]).toEqual([unknown, []]);
  });

  it('is unknown and reports the error when it cannot be read', async () => {
    const { budget, errors } = read(async () => Promise.reject(new Error('Redis is away')));

    expect([await budget, errors.map(String)]).toEqual([unknown, ['Error: Redis is away']]);
  });

  it('is unknown and reports the error when the read times out', async () => {
    const { budget, errors } = read(() => new Promise(() => undefined));

    expect([await budget, errors.length]).toEqual([unknown, 1]);
  });
});
