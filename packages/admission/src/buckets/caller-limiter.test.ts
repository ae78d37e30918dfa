import { describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { openScope, places, type RequestScope } from '../request-scope.js';
import { type Buckets, memoryBuckets, perMinute } from './buckets.js';
import { type CallerLimit, callerLimiter, type Patience } from './caller-limiter.js';

const limitOf = (name: string, perMinute: number, key: string | null = 'caller'): CallerLimit => ({
  name,
  perMinute: () => perMinute,
  keyOf: () => key,
  refuse: (seconds) => new Error(`${name}, again in ${seconds} s`),
});
const aResponse = (locals: object = {}) => ({ locals, setHeader: () => undefined }) as unknown as Response;

/** @returns what a request meets: nothing, or the error of the limit that refuses it */
async function send(limiter: ReturnType<typeof callerLimiter>, res = aResponse()): Promise<string | null> {
  return new Promise((done) => {
    void limiter.check({} as Request, res, (error?: unknown) => done(error === undefined ? null : String(error)));
  });
}
const left = async (buckets: Buckets, name: string, most: number): Promise<number> => {
  let count = 0;
  while ((await buckets.take([{ key: `${name}:caller`, rule: perMinute(most) }]))[0]?.allowed) count += 1;
  return count;
};

describe('a request', () => {
  it('is charged to each limit, and to none when one of them refuses it', async () => {
    const buckets = memoryBuckets(() => 0);
    const limiter = callerLimiter(buckets, [limitOf('wide', 3), limitOf('narrow', 1)]);

    expect([await send(limiter), await send(limiter), await send(limiter)]).toEqual([
      null,
      'Error: narrow, again in 60 s',
      'Error: narrow, again in 60 s',
    ]);
    expect(await left(buckets, 'wide', 3)).toBe(2);
  });

  it('that several limits refuse learns the time after which all of them allow it', async () => {
    const buckets = memoryBuckets(() => 0);
    await buckets.take([
      { key: 'fast:caller', rule: perMinute(60) },
      { key: 'slow:caller', rule: perMinute(1) },
    ]);
    while ((await buckets.take([{ key: 'fast:caller', rule: perMinute(60) }]))[0]?.allowed);
    const limiter = callerLimiter(buckets, [limitOf('fast', 60), limitOf('slow', 1)]);

    expect(await send(limiter)).toBe('Error: slow, again in 60 s');
  });

  it('is not charged to limits that do not concern it', async () => {
    const buckets = memoryBuckets(() => 0);
    const limiter = callerLimiter(buckets, [limitOf('other', 1, null), limitOf('mine', 2)]);

    expect([await send(limiter), await send(limiter)]).toEqual([null, null]);
    expect(await left(buckets, 'other', 1)).toBe(1);
  });

  it('gets its charges back once', async () => {
    const limiter = callerLimiter(
      memoryBuckets(() => 0),
      [limitOf('mine', 1)],
    );
    const res = aResponse();
    await send(limiter, res);

    limiter.giveBack(res);
    limiter.giveBack(res);

    expect([await send(limiter), await send(limiter)]).toEqual([null, 'Error: mine, again in 60 s']);
  });
});

/** A limiter of three per minute that lets requests wait, on a clock that the test advances. */
function startPatient({ waitMs = 40_000, max = 64 } = {}) {
  let now = 0;
  let due: { at: number; run: () => void }[] = [];
  const clock: Patience['clock'] = {
    now: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      due.push(timer);
      return () => {
        due = due.filter((each) => each !== timer);
      };
    },
  };
  const waits = { places: places(max), key: 'caller' };
  const patience = { waitMs, clock, scopeOf: ({ locals }: Response) => locals.scope as RequestScope };
  const limiter = callerLimiter(
    memoryBuckets(() => now),
    [limitOf('slow', 3)],
    patience,
  );
  const ends: string[] = [];
  return {
    ends,
    timers: () => due.length,
    async pass(ms: number) {
      now += ms;
      for (const { at, run } of due) if (at <= now) run();
      await new Promise(setImmediate);
    },
    async send(name: string, signal: AbortSignal = new AbortController().signal) {
      const res = aResponse({ scope: openScope({ signal, waits }) });
      void send(limiter, res).then((error) => ends.push(`${name}: ${error ?? 'served'}`));
      await new Promise(setImmediate);
    },
  };
}

describe('a request that may wait', () => {
  it('waits for a token that flows in within its patience, in order, and is refused if it would come later', async () => {
    const { ends, timers, pass, send } = startPatient();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await send(name);
    expect(ends).toEqual(['a: served', 'b: served', 'c: served', 'f: Error: slow, again in 60 s']);

    await pass(19_999);
    expect(ends).toHaveLength(4);
    await pass(1);
    expect(ends.slice(4)).toEqual(['d: served']);
    await pass(20_000);
    expect(ends.slice(5)).toEqual(['e: served']);
    expect(timers()).toBe(0);
  });

  it('leaves when its client does, and the next one has its token', async () => {
    const { ends, timers, pass, send } = startPatient();
    for (const name of ['a', 'b', 'c']) await send(name);
    const gone = new AbortController();
    await send('left', gone.signal);

    gone.abort(new Error('gone'));
    await new Promise(setImmediate);
    expect([ends.slice(3), timers()]).toEqual([['left: Error: gone'], 0]);
    await send('next');
    await pass(20_000);

    expect(ends.slice(4)).toEqual(['next: served']);
  });

  it('is refused without a charge when too many of its caller wait', async () => {
    const { ends, pass, send } = startPatient({ max: 1 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) await send(name);
    expect(ends.slice(3)).toEqual(['e: Error: slow, again in 60 s']);

    await pass(20_000);
    await send('f');
    await pass(20_000);

    expect(ends.slice(4)).toEqual(['d: served', 'f: served']);
  });
});
