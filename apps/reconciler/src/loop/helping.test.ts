import { silentLog } from '@corral/service';
import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { DueLook } from './due-look.js';
import {
  afterLook,
  HELP_MS,
  type Helping,
  helpWhenLate,
  LATE_MS,
  LOOK_MS,
  MUCH_DUE,
  notHelping,
  QUIET_LOOK_MS,
  reasonToHelp,
  TAKEN_WITHIN_MS,
} from './helping.js';

const quiet: DueLook = { isWatched: true, due: 0, oldest: null };
const work = (id: string, forMs: number, due = 1): DueLook => ({
  isWatched: true,
  due,
  oldest: { id, dueAt: `since ${id}`, forMs },
});

describe('a process without the watch', () => {
  it.each<[string, DueLook, DueLook | null, string | null]>([
    ['nothing is due', quiet, quiet, null],
    ['nobody watches, even if nothing is due', { ...quiet, isWatched: false }, quiet, 'no watch'],
    ['what is due is not late', work('a', 0), quiet, null],
    ['a burst is as large as one process carries out', work('a', 3_000, MUCH_DUE), quiet, null],
    ['a burst is larger', work('a', 0, MUCH_DUE + 1), quiet, 'much due'],
    ['old work is found after a suspension', work('a', 3_000, 200), quiet, null],
    ['old work is found by the first look', work('a', 3_000, 200), null, null],
    ['the oldest work is taken between two looks', work('b', 3_000, 100), work('a', 3_000, 200), null],
    ['the oldest work is not taken', work('a', TAKEN_WITHIN_MS, 1), work('a', 500, 1), 'not taken'],
    ['the oldest work is the same, but not old', work('a', TAKEN_WITHIN_MS - 1, 1), work('a', 0, 1), null],
    [
      'a cluster was taken and is due again',
      { ...work('a', 2_000), oldest: { id: 'a', dueAt: 'later', forMs: 2_000 } },
      work('a', 2_000),
      null,
    ],
    ['work is taken too slowly', work('b', LATE_MS, 100), work('a', LATE_MS - 1, 200), 'late'],
  ])('helps or not when %s', (_what, now, before, reason) => {
    expect(reasonToHelp(now, before)).toBe(reason);
  });
});

const looks = fc.array(
  fc.oneof(
    fc.constant(null),
    fc.record({
      isWatched: fc.boolean(),
      due: fc.integer({ min: 0, max: MUCH_DUE + 1 }),
      oldest: fc.option(
        fc.record({
          id: fc.constantFrom('a', 'b'),
          dueAt: fc.constantFrom('one', 'two'),
          forMs: fc.integer({ min: 0, max: LATE_MS + 1 }),
        }),
      ),
    }),
  ),
  { minLength: 1, maxLength: 40 },
);

describe('help', () => {
  it('is given exactly while the last reason is younger than its duration', () => {
    fc.assert(
      fc.property(
        looks,
        fc.array(fc.integer({ min: 1, max: HELP_MS }), { minLength: 40, maxLength: 40 }),
        (all, waits) => {
          let helping: Helping = notHelping;
          let at = 0;
          let lastReasonAt = Number.NEGATIVE_INFINITY;
          for (const [index, look] of all.entries()) {
            at += waits[index] as number;
            if (look === null || reasonToHelp(look, helping.last) !== null) lastReasonAt = at;
            helping = afterLook(helping, look, at);
            expect(helping.reason !== null).toBe(at - lastReasonAt < HELP_MS);
            expect(helping.last).toBe(look);
          }
        },
      ),
    );
  });

  it('begins at most three looks after work that nobody takes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: QUIET_LOOK_MS - 1 }), (firstSeenAfter) => {
        let helping = afterLook(notHelping, quiet, 0);
        let forMs = firstSeenAfter;
        while (helping.reason === null) {
          helping = afterLook(helping, work('a', forMs), forMs);
          forMs += LOOK_MS;
        }
        expect(forMs - LOOK_MS).toBeLessThanOrEqual(QUIET_LOOK_MS + LOOK_MS);
      }),
    );
  });
});

describe('a process', () => {
  async function followed(
    steps: (at: {
      see: (look: DueLook | Error) => Promise<void>;
      setWatching: (is: boolean) => void;
      taken: () => boolean | null;
    }) => Promise<void>,
  ): Promise<void> {
    jest.useFakeTimers();
    let next: DueLook | Error = quiet;
    let taken: boolean | null = null;
    const helper = helpWhenLate({
      look: async () => {
        if (next instanceof Error) throw next;
        return next;
      },
      takeJobs: (is) => {
        taken = is;
      },
      log: silentLog,
    });
    try {
      await steps({
        async see(look) {
          next = look;
          await jest.advanceTimersByTimeAsync(QUIET_LOOK_MS);
        },
        setWatching: helper.setWatching,
        taken: () => taken,
      });
    } finally {
      await helper.close();
      jest.useRealTimers();
    }
  }

  it('takes jobs while it has the watch, whatever is due', () =>
    followed(async ({ see, setWatching, taken }) => {
      await see(quiet);
      expect(taken()).toBe(false);

      setWatching(true);
      expect(taken()).toBe(true);
      await see(quiet);
      expect(taken()).toBe(true);

      setWatching(false);
      await see(quiet);
      expect(taken()).toBe(false);
    }));

  it('takes jobs while the database gives no answer', () =>
    followed(async ({ see, taken }) => {
      await see(new Error('away'));
      expect(taken()).toBe(true);
    }));

  it('takes jobs for a while after there was a reason, and leaves them then', () =>
    followed(async ({ see, taken }) => {
      await see({ ...quiet, isWatched: false });
      for (let waited = 0; waited < HELP_MS - 2 * QUIET_LOOK_MS; waited += QUIET_LOOK_MS) {
        await see(quiet);
        expect(taken()).toBe(true);
      }
      for (let more = 0; more < 3; more += 1) await see(quiet);
      expect(taken()).toBe(false);
    }));
});
