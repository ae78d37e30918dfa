import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RenderedEvent } from './event.js';
import type { EventPosition } from './event-position.js';
import { recentEvents } from './recent-events.js';

const at = (xid: number): EventPosition => ({ xid: BigInt(xid), id: 0n, at: 0 });
const event = (xid: number, bytes: number): RenderedEvent => ({
  position: at(xid),
  bytes: Buffer.alloc(bytes),
  kind: 'Operation',
  ownerId: null,
});

it('a covered position finds every later event in order, within the memory limits', () => {
  const batch = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 });
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 10 }), fc.integer({ min: 0, max: 60 }), (batches, from) => {
      const recent = recentEvents(at(0), { events: 8, bytes: 100 });
      let last = 0;
      for (const sizes of batches) {
        const before = last;
        last += sizes.length;
        recent.append(
          sizes.map((size, index) => event(before + index + 1, size)),
          at(last),
        );
      }
      const seen: RenderedEvent[] = [];
      let next = recent.covers(at(from)) ? recent.firstBehind(at(from)) : null;
      for (; next !== null; next = recent.firstBehind(next.position)) seen.push(next);

      if (recent.covers(at(from))) {
        expect(seen.map(({ position }) => Number(position.xid))).toEqual(
          Array.from({ length: Math.max(last - from, 0) }, (_, index) => from + index + 1),
        );
      }
      expect(seen.length).toBeLessThanOrEqual(8);
      expect(seen.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThanOrEqual(100);
      expect(recent.covers(recent.end())).toBe(true);
    }),
  );
});
