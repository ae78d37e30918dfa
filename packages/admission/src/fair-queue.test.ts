import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type FairQueueOptions, fairQueue } from './fair-queue.js';
import { narrowScope, openScope, outside, type Place, places, type RequestScope, waiting } from './request-scope.js';

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

  it('needs no standing: a plain scope waits as well', async () => {
    expect(await waiting(here(), async () => 'waited')).toBe('waited');
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
