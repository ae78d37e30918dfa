import { setImmediate as aTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { type GateReport, gate } from './gate.js';

const PLACES = 4;
const kinds = ['fine', 'throttled', 'away', 'locked'] as const;
type Report = GateReport<(typeof kinds)[number]>;
const effects = { fine: 'opens', throttled: 'slows', away: 'shutsInARow', locked: 'shuts' } as const;

type Event =
  | { readonly what: 'comes'; readonly key: string }
  | { readonly what: 'leaves'; readonly which: number; readonly report: Report | null }
  | { readonly what: 'gives up'; readonly which: number }
  | { readonly what: 'passes'; readonly ms: number };
const report: fc.Arbitrary<Report | null> = fc.oneof(
  fc.constant(null),
  fc.record({ kind: fc.constantFrom(...kinds), retryAfterMs: fc.option(fc.nat(200_000)) }),
);
const events: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ what: fc.constant('comes' as const), key: fc.constantFrom('a', 'b', 'c', 'd') }),
    },
    { weight: 4, arbitrary: fc.record({ what: fc.constant('leaves' as const), which: fc.nat(20), report }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('gives up' as const), which: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constant('passes' as const), ms: fc.nat(3_000) }) },
  ),
  { maxLength: 80 },
);

/** Plays events against a gate. `check` is called after each has taken effect. */
async function play(through: readonly Event[], check: (now: ReturnType<typeof look>) => void) {
  const tested = gate({ places: PLACES, effects });
  const inside: ((report: Report | null) => void)[] = [];
  const waiting = new Set<AbortController>();
  let admitted = 0;
  const look = () => ({ ...tested.state(), inside: inside.length, waiting: waiting.size, admitted });
  for (const event of through) {
    if (event.what === 'comes') {
      const client = new AbortController();
      waiting.add(client);
      tested.enter(event.key, client.signal).then(
        (leave) => {
          waiting.delete(client);
          admitted += 1;
          inside.push(leave);
        },
        () => waiting.delete(client),
      );
    } else if (event.what === 'leaves' && inside.length > 0) {
      inside.splice(event.which % inside.length, 1)[0]?.(event.report);
    } else if (event.what === 'gives up')
      [...waiting][event.which % Math.max(1, waiting.size)]?.abort(new Error('left'));
    else if (event.what === 'passes') jest.advanceTimersByTime(event.ms);
    await aTurn();
    check(look());
  }
  return { tested, inside, waiting, look };
}
const look = () => ({ places: 0, pausedMs: 0, inside: 0, waiting: 0, admitted: 0 });

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('a gate', () => {
  it('admits nobody while it pauses, never more than its places, and lets nobody wait for a free one', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (through) => {
        let before = look();
        await play(through, (now) => {
          expect(now.inside).toBeLessThanOrEqual(PLACES);
          expect(now.places).toBeGreaterThanOrEqual(1);
          if (now.admitted > before.admitted && before.pausedMs === 0) expect(now.inside).toBeLessThanOrEqual(PLACES);
          if (now.pausedMs > 0 && before.pausedMs > 0) {
            const hasPassed = now.pausedMs > before.pausedMs;
            if (!hasPassed) expect(now.admitted).toBe(before.admitted);
          }
          if (now.pausedMs === 0 && now.waiting > 0) expect(now.inside).toBeGreaterThanOrEqual(now.places);
          before = now;
        });
      }),
    );
  });

  it('opens for all again once its service works, and leaves no timer', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (through) => {
        const { tested, inside, waiting } = await play(through, () => undefined);
        for (let rounds = 0; inside.length + waiting.size > 0; rounds += 1) {
          expect(rounds).toBeLessThan(200);
          jest.advanceTimersByTime(150_000);
          await aTurn();
          for (const leave of inside.splice(0)) leave({ kind: 'fine' });
          await aTurn();
        }
        jest.advanceTimersByTime(150_000);
        for (let rounds = 0; rounds < PLACES * PLACES; rounds += 1) {
          (await tested.enter('a', new AbortController().signal))({ kind: 'fine' });
        }
        expect(tested.state()).toEqual({ places: PLACES, pausedMs: 0 });
        expect(jest.getTimerCount()).toBe(0);
      }),
    );
  });
});
