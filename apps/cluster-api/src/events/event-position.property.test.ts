import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { comparePositions, type EventPosition, parsePosition, renderPosition } from './event-position.js';

const number = fc.bigInt({ min: 0n, max: 10n ** 18n - 1n });
const position = fc.record({ xid: number, id: number, at: fc.integer({ min: 0, max: 4_102_444_800_000 }) });
const at = (xid: bigint, id: bigint): EventPosition => ({ xid, id, at: 0 });

describe('an event position', () => {
  it('survives a round trip through a header-safe text', () => {
    fc.assert(
      fc.property(position, (given) => {
        expect(parsePosition(renderPosition(given))).toEqual(given);
        expect(renderPosition(given)).toMatch(/^[\w-]{1,80}$/);
      }),
    );
  });

  it('is parsed only from its canonical text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.stringMatching(/^[\w-]{1,40}$/)), (text) => {
        const parsed = parsePosition(text);
        expect(parsed === null || renderPosition(parsed) === text).toBe(true);
      }),
    );
  });

  it.each(['1.2', '1.2.3.4', '01.2.3', '-1.2.3', '1.2.x', '1e3.2.3', `${10n ** 18n}.0.0`, ' 1.2.3', '1.2.3\n', ''])(
    'is not parsed from %j',
    (text) => {
      expect(parsePosition(Buffer.from(text).toString('base64url'))).toBeNull();
    },
  );

  it.each([
    [at(1n, 9n), at(2n, 1n), -1],
    [at(2n, 1n), at(1n, 9n), 1],
    [at(2n, 1n), at(2n, 2n), -1],
    [at(2n, 0n), at(2n, 1n), -1],
    [at(2n, 2n), at(2n, 2n), 0],
  ])('orders %j and %j as %i: by transaction, then by event', (a, b, order) => {
    expect(comparePositions(a, b)).toBe(order);
  });
});
