import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createElementCutter, createLineCutter } from './json-stream.js';

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

function cutAll(text: string, sizes: readonly number[] = []) {
  const bytes = Buffer.from(text);
  const cutter = createElementCutter('items');
  const elements: Buffer[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    elements.push(...cutter.cut(bytes.subarray(at, at + size)));
    at += size;
  }
  return { elements: elements.map(String), remainder: String(cutter.remainder()) };
}

describe('the elements of a list', () => {
  it('are the same as those of the whole, for any division into chunks', () => {
    const list = fc.record({
      kind: fc.string(),
      items: fc.array(fc.jsonValue()),
      metadata: fc.jsonValue(),
      more: fc.jsonValue(),
    });
    const indent = fc.constantFrom(0, 2);

    fc.assert(
      fc.property(list, indent, fc.array(fc.nat(30)), (value, spaces, sizes) => {
        const text = JSON.stringify(value, null, spaces);
        const { items, ...rest } = JSON.parse(text);

        const { elements, remainder } = cutAll(text, sizes);

        expect(elements.map((element) => JSON.parse(element))).toEqual(items);
        expect(JSON.parse(remainder)).toEqual({ ...rest, items: [] });
      }),
    );
  });

  it.each([
    ['{"items": []}', [], '{"items": []}'],
    ['{"items": [ ]}', [], '{"items": []}'],
    ['{"items": null}', [], '{"items": null}'],
    ['{"a": {"items": [1]}}', [], '{"a": {"items": [1]}}'],
    ['{"a": "items", "b": [1]}', [], '{"a": "items", "b": [1]}'],
    ['{"items": [1, {"items": [2]}], "metadata": {}}', ['1', ' {"items": [2]}'], '{"items": [], "metadata": {}}'],
    ['{"items": ["a,]", "\\"]"]}', ['"a,]"', ' "\\"]"'], '{"items": []}'],
  ])('of %s are found, and no others', (text, elements, remainder) => {
    expect(cutAll(text)).toEqual({ elements, remainder });
  });

  it.each(['{"items": [1,', '{"items": [1', '{"items": [', '{"items"', '', '{"items": [1]', '{"items": [1]}}'])(
    'of the invalid %j leave a remainder that is not JSON',
    (text) => {
      expect(() => JSON.parse(cutAll(text).remainder)).toThrow(SyntaxError);
    },
  );

  it.each(['{"items": [1,,2]}', '{"items": [,]}', '{"items": [1 2]}', '{"items": [{]}'])(
    'of the invalid %j are not all JSON',
    (text) => {
      const { elements, remainder } = cutAll(text);

      expect(() => [...elements, remainder].map((part) => JSON.parse(part))).toThrow(SyntaxError);
    },
  );
});
