import { setImmediate as aTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { fairQueue } from './fair-queue.js';
import { NotAdmitted } from './request-scope.js';

const OWNERS = ['acme', 'globex', 'initech', 'umbrella'] as const;
const bounds = { concurrency: 3, perOwner: 2, waiting: 12, waitingPerOwner: 5, waitMs: 1_000 };

type Event =
  | { readonly what: 'comes'; readonly owner: string }
  | { readonly what: 'ends' | 'leaves'; readonly which: number }
  | { readonly what: 'passes'; readonly ms: number };
const owner = fc.constantFrom(...OWNERS);
const events: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ what: fc.constant('comes' as const), owner }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant('ends' as const), which: fc.nat(50) }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('leaves' as const), which: fc.nat(50) }) },
    { weight: 1, arbitrary: fc.record({ what: fc.constant('passes' as const), ms: fc.nat(700) }) },
  ),
  { maxLength: 80 },
);

interface Piece {
  readonly id: number;
  readonly owner: string;
  readonly client: AbortController;
  readonly since: number;
  end(): void;
  state: 'waits' | 'runs' | 'done' | 'refused' | 'left';
}

/** A queue whose work ends when the test says so. */
function start(options = bounds) {
  const queue = fairQueue(options);
  const pieces: Piece[] = [];
  const begun: Piece[] = [];
  const refusals: NotAdmitted[] = [];
  const inState = (state: Piece['state']) => pieces.filter((piece) => piece.state === state);
  const send = (ofOwner: string): Piece => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const client = new AbortController();
    const piece: Piece = {
      id: pieces.length,
      owner: ofOwner,
      client,
      since: performance.now(),
      state: 'waits',
      end: resolve,
    };
    pieces.push(piece);
    const scope = { signal: client.signal, deadline: Number.POSITIVE_INFINITY };
    void queue
      .run(ofOwner, scope, async () => {
        piece.state = 'runs';
        begun.push(piece);
        await promise;
      })
      .then(
        () => {
          piece.state = 'done';
        },
        (error: unknown) => {
          piece.state = error instanceof NotAdmitted ? 'refused' : 'left';
          if (error instanceof NotAdmitted) refusals.push(error);
        },
      );
    return piece;
  };
  return { queue, pieces, begun, refusals, inState, send };
}

type Started = ReturnType<typeof start>;

/** Calls `check` after each event has taken effect. */
async function play(through: readonly Event[], check: (started: Started) => void = () => undefined): Promise<Started> {
  const started = start();
  const { inState, send } = started;
  for (const event of through) {
    if (event.what === 'comes') send(event.owner);
    else if (event.what === 'passes') jest.advanceTimersByTime(event.ms);
    else if (event.what === 'ends') chosen(inState('runs'), event.which)?.end();
    else chosen(inState('waits'), event.which)?.client.abort(new Error('left'));
    await aTurn();
    check(started);
  }
  return started;
}

const chosen = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)];

async function endAll({ inState }: Started): Promise<void> {
  for (let running = inState('runs'); running.length > 0; running = inState('runs')) {
    for (const piece of running) piece.end();
    await aTurn();
  }
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});

afterEach(() => {
  jest.useRealTimers();
});

describe('work of many owners', () => {
  it('never runs or waits in larger numbers than the bounds say', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (through) => {
        await play(through, ({ queue, inState }) => {
          expect([queue.countRunning(), queue.countWaiting()]).toEqual([
            inState('runs').length,
            inState('waits').length,
          ]);
          expect(queue.countRunning()).toBeLessThanOrEqual(bounds.concurrency);
          expect(queue.countWaiting()).toBeLessThanOrEqual(bounds.waiting);
          for (const each of OWNERS) {
            const ofOwner = (state: Piece['state']) => inState(state).filter((piece) => piece.owner === each).length;
            expect(ofOwner('runs')).toBeLessThanOrEqual(bounds.perOwner);
            expect(ofOwner('waits')).toBeLessThanOrEqual(bounds.waitingPerOwner);
          }
        });
      }),
    );
  });

  it('waits only while it may not run', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (through) => {
        await play(through, ({ inState }) => {
          if (inState('runs').length === bounds.concurrency) return;
          for (const waiter of inState('waits')) {
            expect(inState('runs').filter((piece) => piece.owner === waiter.owner)).toHaveLength(bounds.perOwner);
          }
        });
      }),
    );
  });

  it('begins in order of arrival within an owner', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (through) => {
        const started = await play(through);
        await endAll(started);
        for (const each of OWNERS) {
          const ids = started.begun.filter((piece) => piece.owner === each).map(({ id }) => id);
          expect(ids).toEqual([...ids].sort((one, other) => one - other));
        }
      }),
    );
  });

  it('waits no longer than allowed', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (through) => {
        await play(through, ({ inState }) => {
          for (const waiter of inState('waits')) {
            expect(performance.now() - waiter.since).toBeLessThanOrEqual(bounds.waitMs);
          }
        });
      }),
    );
  });

  it('leaves nothing behind, however it ends', async () => {
    await fc.assert(
      fc.asyncProperty(events, async (through) => {
        const started = await play(through);
        for (const waiter of started.inState('waits')) waiter.client.abort(new Error('left'));
        await endAll(started);
        expect([started.queue.countRunning(), started.queue.countWaiting()]).toEqual([0, 0]);
        expect(jest.getTimerCount()).toBe(0);
        for (const each of OWNERS) expect(started.queue.isBusy(each)).toBe(false);
      }),
    );
  });
});

/** 1 when all have the same, 1/n when one has all. */
const jainIndex = (of: readonly number[]): number =>
  of.reduce((sum, each) => sum + each, 0) ** 2 / (of.length * of.reduce((sum, each) => sum + each ** 2, 0));

describe('beside a flood', () => {
  const floods = fc.record({
    flood: fc.integer({ min: 1, max: 90 }),
    owners: fc.integer({ min: 2, max: 6 }),
    order: fc.array(fc.nat(50), { minLength: 30, maxLength: 120 }),
  });

  it('owners who always have work get equal parts, and nobody is refused but the flood', async () => {
    await fc.assert(
      fc.asyncProperty(floods, async ({ flood, owners, order }) => {
        const started = start({ concurrency: 3, perOwner: 3, waiting: 40, waitingPerOwner: 40, waitMs: 60_000 });
        const { inState, send, begun, pieces } = started;
        const names = Array.from({ length: owners }, (_, index) => `owner ${index}`);
        for (let sent = 0; sent < flood; sent += 1) send('flood');
        // One more than can run, so one always waits.
        for (const name of names) for (let sent = 0; sent < 4; sent += 1) send(name);
        await aTurn();
        const before = begun.length;
        for (const which of order) {
          const piece = chosen(inState('runs'), which);
          piece?.end();
          if (piece !== undefined) send(piece.owner);
          await aTurn();
        }
        const parts = names.map((name) => begun.slice(before).filter((piece) => piece.owner === name).length);
        const most = Math.max(...parts);
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(most - 1);
        if (most >= 8) expect(jainIndex(parts)).toBeGreaterThanOrEqual(0.98);
        expect(pieces.filter((piece) => piece.state === 'refused' && piece.owner !== 'flood')).toEqual([]);
        await endAll(started);
      }),
    );
  });

  it('a newcomer begins after at most one piece of each other owner', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(owner, { minLength: 8, maxLength: 20 }), async (before) => {
        const started = start({ ...bounds, concurrency: 1, perOwner: 1, waiting: 100, waitingPerOwner: 100 });
        for (const each of before) started.send(each);
        const newcomer = started.send('newcomer');
        const ahead = new Set(before).size;
        for (let ended = 0; ended <= ahead; ended += 1) {
          for (const piece of started.inState('runs')) if (piece !== newcomer) piece.end();
          await aTurn();
        }
        expect(newcomer.state).toBe('runs');
        await endAll(started);
      }),
    );
  });
});
