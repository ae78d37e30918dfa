import { setImmediate as aTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { type GateReport, gate as openGate } from './gate.js';

const effects = { fine: 'opens', throttled: 'slows', away: 'shutsInARow', locked: 'shuts' } as const;
type Report = GateReport<keyof typeof effects>;

describe('a gate', () => {
  const running = () => new AbortController().signal;

  function aGate(places = 4) {
    jest.useFakeTimers({ now: 0 });
    const pauses: object[] = [];
    const gate = openGate({
      places,
      effects,
      now: () => Date.now(),
      random: () => 0,
      onPause: (pause) => pauses.push(pause),
    });
    /** Enters once and leaves with a report. */
    const say = async (report: Report, key = 'web') => (await gate.enter(key, running()))(report);
    /** How many of `count` callers are inside after all pending work is done. */
    const enterMany = async (count: number) => {
      const leaves: ((report: Report | null) => void)[] = [];
      for (let index = 0; index < count; index += 1)
        void gate.enter(`c${index}`, running()).then((leave) => leaves.push(leave));
      await jest.advanceTimersByTimeAsync(0);
      return leaves;
    };
    return { gate, pauses, say, enterMany };
  }

  afterEach(() => {
    jest.useRealTimers();
  });

  it('halves its places when throttled, and pauses for the Retry-After time', async () => {
    const { gate, say, enterMany } = aGate(4);

    await say({ kind: 'throttled', retryAfterMs: 7_000 });

    expect(gate.state()).toEqual({ places: 2, pausedMs: 7_000 });
    const inside = await enterMany(4);
    await jest.advanceTimersByTimeAsync(6_999);
    expect(inside).toHaveLength(0);
    await jest.advanceTimersByTimeAsync(1);
    expect(inside).toHaveLength(2);
  });

  it('counts the same report from concurrent callers once', async () => {
    const { gate, pauses, enterMany } = aGate(8);
    const inside = await enterMany(8);

    for (const leave of inside) leave({ kind: 'throttled', retryAfterMs: 1_000 });

    expect(gate.state().places).toBe(4);
    expect(pauses).toHaveLength(1);
  });

  it('does not pause when only one subject gets no answers', async () => {
    const { gate, say } = aGate();

    for (let attempt = 0; attempt < 10; attempt += 1) await say({ kind: 'away' }, 'poison');

    expect(gate.state()).toEqual({ places: 4, pausedMs: 0 });
  });

  it('pauses when several subjects in a row get no answer', async () => {
    const { gate, say } = aGate();
    await say({ kind: 'away' }, 'one');
    await say({ kind: 'away' }, 'two');
    await say({ kind: 'fine' }, 'three');
    await say({ kind: 'away' }, 'four');
    await say({ kind: 'away' }, 'five');
    expect(gate.state()).toEqual({ places: 4, pausedMs: 0 });

    await say({ kind: 'away' }, 'six');

    expect(gate.state()).toEqual({ places: 1, pausedMs: 1_000 });
  });

  it.each(['away', 'locked'] as const)('tries every two seconds while the service is %s', async (kind) => {
    const { gate, pauses, say } = aGate();
    const begin = kind === 'away' ? ['one', 'two', 'three'] : ['one'];
    for (const key of begin) await say({ kind }, key);
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await jest.advanceTimersByTimeAsync(gate.state().pausedMs);
      await say({ kind }, 'one');
    }

    expect(pauses.map((pause) => (pause as { ms: number }).ms)).toEqual([1_000, ...Array(6).fill(2_000)]);
  });

  it('pauses up to half a minute without a Retry-After, and recovers afterwards', async () => {
    const { gate, pauses, say, enterMany } = aGate(4);
    for (let attempt = 0; attempt < 8; attempt += 1) {
      await say({ kind: 'throttled', retryAfterMs: null });
      await jest.advanceTimersByTimeAsync(gate.state().pausedMs);
    }
    expect(pauses.map((pause) => (pause as { ms: number }).ms)).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ]);
    const inside = await enterMany(3);
    expect(inside).toHaveLength(1);
    inside[0]?.({ kind: 'fine' });
    await jest.advanceTimersByTimeAsync(0);
    expect(inside).toHaveLength(3);
    for (const leave of inside.slice(1)) leave({ kind: 'fine' });

    for (let round = 0; round < 20; round += 1) await say({ kind: 'fine' });

    expect(gate.state()).toEqual({ places: 4, pausedMs: 0 });
  });

  it('rejects waiting callers when the process stops', async () => {
    const { gate, say } = aGate();
    await say({ kind: 'locked' });
    const stop = new AbortController();
    const waiting = gate.enter('web', stop.signal);

    stop.abort(new Error('stopped'));

    await expect(waiting).rejects.toThrow('stopped');
    await expect(gate.enter('web', stop.signal)).rejects.toThrow('stopped');
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('any gate', () => {
  const PLACES = 4;
  const kinds = ['fine', 'throttled', 'away', 'locked'] as const;

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
    const tested = openGate({ places: PLACES, effects });
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
