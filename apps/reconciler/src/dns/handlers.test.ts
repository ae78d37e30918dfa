import { describe, expect, it } from '@jest/globals';
import { type DnsHandlerDeps, dnsHandlers } from './handlers.js';

const context = { signal: new AbortController().signal } as never;

/** Passes that end on demand. */
function heldPasses() {
  const ends: (() => void)[] = [];
  const pass = () => new Promise<never>((resolve) => void ends.push(() => resolve(undefined as never)));
  const handlers = dnsHandlers({ settle: pass, lookUp: pass } as unknown as DnsHandlerDeps);
  return { ends, handlers };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a request for a pass while one is running', () => {
  it('runs one more settle pass directly afterwards, however many requests came', async () => {
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

  it('is dropped for a look-up of actions', async () => {
    const { ends, handlers } = heldPasses();
    const first = handlers['look-up-actions']({}, context);

    await handlers['look-up-actions']({}, context);
    ends[0]?.();

    await expect(first).rejects.toThrow(); // the pass returned nothing
    expect(ends).toHaveLength(1);
  });
});
