import { setImmediate as aTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { type FairQueueOptions, fairQueue } from './fair-queue.js';
import {
  NotAdmitted,
  narrowScope,
  openScope,
  outside,
  type Place,
  places,
  type RequestScope,
  waiting,
} from './request-scope.js';

describe('a queue', () => {
  const here = (deadline = Number.POSITIVE_INFINITY): RequestScope => ({
    signal: new AbortController().signal,
    deadline,
  });
  const generous = { concurrency: 1, perOwner: 1, waiting: 10, waitingPerOwner: 10, waitMs: 1_000 };
  const queueOf = (options: Partial<FairQueueOptions> = {}) => fairQueue({ ...generous, ...options });
  const never = () => new Promise<never>(() => undefined);
  const flush = async (): Promise<void> => {
    for (let times = 0; times < 20; times += 1) await Promise.resolve();
  };

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  describe('a fair queue', () => {
    it('returns what the work returns, and throws what it throws', async () => {
      const { run } = queueOf();

      expect(await run('acme', here(), async () => 'done')).toBe('done');
      await expect(run('acme', here(), () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
      expect(await run('acme', here(), async () => 'again')).toBe('again');
    });

    it('refuses an owner whose work waits in its largest number, and no other', async () => {
      const { run, countWaiting } = queueOf({ waitingPerOwner: 1 });
      void run('acme', here(), never);
      void run('acme', here(), never).catch(() => undefined);

      await expect(run('acme', here(), never)).rejects.toMatchObject({ why: 'full', whose: 'own' });
      void run('globex', here(), never).catch(() => undefined);
      expect(countWaiting()).toBe(2);
    });

    it('takes the last work of the busiest owner back when a calmer owner finds it full', async () => {
      const { run } = queueOf({ waiting: 3 });
      void run('acme', here(), never);
      const flood = [1, 2, 3].map(() => run('acme', here(), never));
      for (const each of flood) each.catch(() => undefined);
      const settled = jest.fn();
      for (const [index, each] of flood.entries()) each.catch(({ why, whose }) => settled(index, why, whose));

      void run('globex', here(), never).catch(() => undefined);
      await flush();

      expect(settled.mock.calls).toEqual([[2, 'full', 'others']]);
      await expect(run('acme', here(), never)).rejects.toMatchObject({ why: 'full', whose: 'others' });
    });

    it.each([
      ['of the owner', ['acme'], 'own'],
      ['of others', ['globex'], 'others'],
    ] as const)('refuses late work, and says that work %s was in the way', async (_case, [running], whose) => {
      const { run, countWaiting } = queueOf();
      void run(running, here(), never);
      const late = run('acme', here(), never);
      const refused = expect(late).rejects.toMatchObject({ why: 'late', whose });

      await jest.advanceTimersByTimeAsync(1_000);

      await refused;
      expect(countWaiting()).toBe(0);
    });

    it('waits no longer than until the deadline of the request, and runs work that need not wait even after it', async () => {
      const { run } = queueOf();
      expect(await run('acme', here(performance.now() - 1), async () => 'done')).toBe('done');
      void run('acme', here(), never);
      const late = expect(run('acme', here(performance.now() + 10), never)).rejects.toMatchObject({ why: 'late' });

      await jest.advanceTimersByTimeAsync(10);

      await late;
    });

    it('rejects with the reason of a client that leaves, before or while it waits', async () => {
      const { run, countWaiting } = queueOf();
      void run('acme', here(), never);
      const client = new AbortController();
      const left = run('acme', { ...here(), signal: client.signal }, never);

      client.abort(new Error('gone'));

      await expect(left).rejects.toThrow('gone');
      await expect(run('globex', { ...here(), signal: client.signal }, never)).rejects.toThrow('gone');
      expect([countWaiting(), jest.getTimerCount()]).toEqual([0, 0]);
    });

    it('lets the next run while work has left its place', async () => {
      const { run, countRunning } = queueOf();
      const places: Place[] = [];
      const begun: string[] = [];
      const work = (name: string) => (place: Place) => {
        places.push(place);
        begun.push(name);
        return never();
      };
      void run('acme', here(), work('first'));
      void run('acme', here(), work('second'));

      const comeBack = places[0]?.leave();
      await flush();
      expect([begun, countRunning()]).toEqual([['first', 'second'], 1]);

      comeBack?.();
      comeBack?.();
      expect(countRunning()).toBe(2);
    });
  });

  describe('a request that waits', () => {
    const placeOf = () => {
      const seen = { away: 0 };
      const leave = () => {
        seen.away += 1;
        return () => {
          seen.away -= 1;
        };
      };
      return { seen, place: { leave } };
    };

    it('has no place meanwhile, however many of its waits overlap', async () => {
      const { seen, place } = placeOf();
      const scope = openScope({ signal: here().signal, place });
      const waits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
      const first = waiting(scope, () => waits[0].promise);
      const second = outside(narrowScope(scope, { deadline: 5 }), () => waits[1].promise);
      expect(seen.away).toBe(1);

      waits[0].resolve();
      await first;
      expect(seen.away).toBe(1);
      waits[1].resolve();
      await second;

      expect(seen.away).toBe(0);
    });

    it('leaves its place for its turn in a queue, and only if it must wait', async () => {
      const { seen, place } = placeOf();
      const { run } = queueOf();
      const scope = openScope({ signal: here().signal, place });
      const first = Promise.withResolvers<void>();
      void run('acme', scope, () => first.promise);
      expect(seen.away).toBe(0);

      const second = run('acme', scope, async () => seen.away);
      expect(seen.away).toBe(1);
      first.resolve();

      expect(await second).toBe(0);
    });

    it('is refused when as many requests with its key wait already, and a call outside is not', async () => {
      const waits = { places: places(1), key: 'token' };
      const one = openScope({ signal: here().signal, waits });
      const other = narrowScope(here(), { waits });
      void waiting(one, never);
      void waiting(one, never);

      await expect(waiting(other, never)).rejects.toMatchObject({ why: 'full', whose: 'own' });
      expect(await outside(other, async () => 'called')).toBe('called');
      expect(await waiting(narrowScope(here(), { waits: { ...waits, key: 'other' } }), async () => 'waited')).toBe(
        'waited',
      );
    });

    it('frees both when its wait fails', async () => {
      const { seen, place } = placeOf();
      const bound = places(1);
      const scope = openScope({ signal: here().signal, place, waits: { places: bound, key: 'token' } });

      await expect(waiting(scope, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');

      expect(seen.away).toBe(0);
      expect(bound.take('token')).not.toBeNull();
    });

    it('is narrowed, never widened, by a deadline', () => {
      expect(narrowScope(here(5), { deadline: 9 }).deadline).toBe(5);
      expect(narrowScope(here(5), { deadline: 3 }).deadline).toBe(3);
    });
  });

  describe('places', () => {
    it('are limited per key, and given back once', () => {
      const two = places(2);
      const giveBack = two.take('a') as () => void;
      expect(two.take('a')).not.toBeNull();
      expect(two.take('a')).toBeNull();
      expect(two.take('b')).not.toBeNull();

      giveBack();
      giveBack();

      expect(two.take('a')).not.toBeNull();
      expect(two.take('a')).toBeNull();
    });
  });
});

describe('any queue', () => {
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
  async function play(
    through: readonly Event[],
    check: (started: Started) => void = () => undefined,
  ): Promise<Started> {
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
    it('stays within its bounds, begins in order of arrival, waits only while it must, and leaves nothing behind', async () => {
      await fc.assert(
        fc.asyncProperty(events, async (through) => {
          const started = await play(through, ({ queue, inState }) => {
            const [running, waits] = [inState('runs'), inState('waits')];
            expect([queue.countRunning(), queue.countWaiting()]).toEqual([running.length, waits.length]);
            expect(running.length).toBeLessThanOrEqual(bounds.concurrency);
            expect(waits.length).toBeLessThanOrEqual(bounds.waiting);
            for (const each of OWNERS) {
              const [runs, waiters] = [running, waits].map((all) => all.filter((piece) => piece.owner === each).length);
              expect(runs).toBeLessThanOrEqual(bounds.perOwner);
              expect(waiters).toBeLessThanOrEqual(bounds.waitingPerOwner);
              if (waiters !== 0 && running.length < bounds.concurrency) expect(runs).toBe(bounds.perOwner);
            }
            for (const { since } of waits) expect(performance.now() - since).toBeLessThanOrEqual(bounds.waitMs);
          });
          for (const waiter of started.inState('waits').slice(1)) waiter.client.abort(new Error('left'));
          await endAll(started);
          expect([started.queue.countRunning(), started.queue.countWaiting()]).toEqual([0, 0]);
          expect(jest.getTimerCount()).toBe(0);
          for (const each of OWNERS) {
            const ids = started.begun.filter((piece) => piece.owner === each).map(({ id }) => id);
            expect(ids).toEqual([...ids].sort((one, other) => one - other));
            expect(started.queue.isBusy(each)).toBe(false);
          }
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
});
