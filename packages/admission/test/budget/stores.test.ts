import { readClock } from '@corral/database';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freshState } from '../../src/budget/account.js';
import { type BudgetStore, type Change, readBudgets, sharedStore } from '../../src/budget/budget-store.js';
import { aProject, startPlace, type TestPlace } from './test-stores.js';

/** Increments a number in the state, and returns the previous one. */
const countOne: Change<number> = (state, now) => {
  const before = state ?? freshState({ now, limit: 3_600 });
  return { state: { ...before, ended: before.ended + 1 }, answer: before.ended };
};

describe('the store that processes share', () => {
  let place: TestPlace;
  let store: BudgetStore;
  let project: string;
  beforeAll(async () => {
    place = await startPlace();
    store = sharedStore(place.prisma);
  });
  afterAll(() => place.stop());
  beforeEach(() => {
    project = aProject();
  });

  it('is empty first, and keeps what was stored', async () => {
    const answers = [await store.update(project, countOne), await store.update(project, countOne)];

    expect(answers).toEqual([0, 1]);
  });

  it('loses no change when many processes change it concurrently', async () => {
    const counts = Array.from({ length: 60 }, () => store.update(project, countOne));

    const all = (await Promise.all(counts)).sort((one, other) => one - other);
    expect(all).toEqual(Array.from({ length: 60 }, (_, index) => index));
  });

  it('keeps nothing of a change that fails', async () => {
    await store.update(project, countOne);

    const failed = store.update(project, () => {
      throw new Error('given up');
    });

    await expect(failed).rejects.toThrow('given up');
    expect(await store.update(project, countOne)).toBe(1);
  });

  it('keeps nothing of a change that was given up while something held the account', async () => {
    await store.update(project, countOne);
    let isGivenUp = false;
    let readAt = Number.NaN;
    const change: Change<number> = (state, now) => {
      if (isGivenUp) throw new Error('given up');
      readAt = now;
      return countOne(state, now);
    };

    const changed = await place.prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT FROM upstream_budget WHERE project = ${`5:${project}`} FOR UPDATE`;
      const changing = store.update(project, change).then(
        () => 'kept',
        (error: Error) => error.message,
      );
      await waitFor('a second to pass since it read', async () => (await readClock(tx)).getTime() > readAt + 1_000);
      isGivenUp = true;
      return { changing };
    });

    expect(await changed.changing).toBe('given up');
    expect(await store.update(project, countOne)).toBe(1);
  });

  it.each([['no JSON'], ['null'], ['{"form":99,"ended":5}']])('treats %s as empty', async (text) => {
    await place.prisma.upstreamBudget.create({ data: { project: `5:${project}`, version: 7, state: text } });

    expect(await readBudgets(place.prisma)).not.toHaveProperty(project);
    expect(await store.update(project, countOne)).toBe(0);
  });

  it('shows the current budgets of all projects to every reader', async () => {
    await store.update(project, (_state, now) => ({
      state: freshState({ now: now - 10_000, limit: 3_600, level: 100 }),
      answer: null,
    }));

    const { [project]: reading } = await readBudgets(place.prisma);

    expect(reading).toMatchObject({ limit: 3_600, waiting: { write: 0 } });
    expect(reading?.remaining).toBeGreaterThanOrEqual(108);
  });
});
