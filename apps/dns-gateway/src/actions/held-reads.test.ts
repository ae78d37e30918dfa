import { type Clock, places } from '@corral/admission';
import { describe, expect, it } from '@jest/globals';
import { heldReads } from './held-reads.js';

/** Held reads whose end, and whose clock, the test controls. */
function start({ max = 64 } = {}) {
  const timers = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    after: (_ms, run) => {
      timers.add(run);
      return () => void timers.delete(run);
    },
  };
  const draining = new AbortController();
  const held = heldReads({ clock, holdMs: 3_000, places: places(max), draining: draining.signal });
  let stopped = 0;
  const stop = (): void => {
    stopped += 1;
  };
  const hold = (tokenId = 'token', gone: AbortSignal = new AbortController().signal) => {
    const { promise: done, resolve: end } = Promise.withResolvers<void>();
    const isHeld = held.hold(tokenId, { gone, setAside: () => () => undefined }, () => ({ done, stop }));
    return { isHeld, end };
  };
  return { hold, draining, timers, stopped: () => stopped };
}

describe('a held read', () => {
  it('ends when the followed actions change', async () => {
    const { hold, timers, stopped } = start();
    const read = hold();

    read.end();

    expect(await read.isHeld).toBe(true);
    expect([timers.size, stopped()]).toEqual([0, 1]);
  });

  it('ends after the maximum hold time', async () => {
    const { hold, timers, stopped } = start();
    const read = hold();

    for (const run of timers) run();

    expect(await read.isHeld).toBe(true);
    expect(stopped()).toBe(1);
  });

  it('ends when its client disconnects, or had already disconnected', async () => {
    const { hold, timers, stopped } = start();
    const gone = new AbortController();
    const read = hold('token', gone.signal);

    gone.abort();

    await read.isHeld;
    await hold('token', gone.signal).isHeld;
    expect([timers.size, stopped()]).toEqual([0, 2]);
  });

  it('ends immediately when the process drains, and no further read is held', async () => {
    const { hold, draining, timers } = start();
    const reads = [hold(), hold('other')];

    draining.abort();

    expect(await Promise.all(reads.map(({ isHeld }) => isHeld))).toEqual([true, true]);
    expect(await hold().isHeld).toBe(false);
    expect(timers.size).toBe(0);
  });

  it('is limited per token: one more is not held until one ends', async () => {
    const { hold } = start({ max: 2 });
    const [first] = [hold(), hold()];

    expect(await hold().isHeld).toBe(false);
    first.end();
    await first.isHeld;
    const next = hold();
    next.end();

    expect(await next.isHeld).toBe(true);
  });
});
