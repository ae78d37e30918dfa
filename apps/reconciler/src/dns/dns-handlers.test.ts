import { describe, expect, it } from '@jest/globals';
import { type DnsHandlerDeps, dnsHandlers } from './dns-handlers.js';

const context = { signal: new AbortController().signal } as never;

/** Passes that end when they are told to. */
function heldPasses() {
  const ends: (() => void)[] = [];
  const pass = () => new Promise<never>((resolve) => void ends.push(() => resolve(undefined as never)));
  const handlers = dnsHandlers({ settle: pass, lookUp: pass } as unknown as DnsHandlerDeps);
  return { ends, handlers };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a pass over writes that is asked for while one is under way', () => {
  it('follows it at once, alone, however often it was asked for: what was due may have come behind its back', async () => {
    const { ends, handlers } = heldPasses();
    const first = handlers['settle-writes']({}, context);
    const others = [handlers['settle-writes']({}, context), handlers['settle-writes']({}, context)];

    await Promise.all(others);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await turn();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await first;

    expect(ends).toHaveLength(2);
  });

  it('is none when it is a look-up of actions: that has its turns', async () => {
    const { ends, handlers } = heldPasses();
    const first = handlers['look-up-actions']({}, context);

    await handlers['look-up-actions']({}, context);
    ends[0]?.();

    await expect(first).rejects.toThrow(); // of a pass that says nothing
    expect(ends).toHaveLength(1);
  });
});
