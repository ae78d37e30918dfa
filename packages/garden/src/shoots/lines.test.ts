import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLineCutter } from './lines.js';

describe('lines', () => {
  it('are the same for any division of the stream into chunks', () => {
    const line = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a)));

    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(50)), (lines, sizes) => {
        const stream = Buffer.concat(lines.flatMap((bytes) => [bytes, Buffer.from('\n')]));
        const cutter = createLineCutter(1_000);
        const found: Buffer[] = [];
        let at = 0;
        for (const size of [...sizes, stream.length]) {
          found.push(...cutter.cut(stream.subarray(at, at + size)));
          at += size;
        }

        expect(found).toEqual(lines.filter((bytes) => bytes.length > 0));
      }),
    );
  });

  it('have a maximum length, even over several chunks', () => {
    const cutter = createLineCutter(4);

    expect(cutter.cut(Buffer.from('abcd\nab'))).toEqual([Buffer.from('abcd')]);
    expect(cutter.cut(Buffer.from('cd'))).toEqual([]);
    expect(() => cutter.cut(Buffer.from('e'))).toThrow(RangeError);
  });
});
