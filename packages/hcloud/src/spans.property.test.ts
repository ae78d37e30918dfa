import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sliceElements, sliceMember } from './spans.js';

const indents = fc.constantFrom(0, 1, 4, '\t');
const jsonText = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), indents)
  .map(([value, indent]) => JSON.stringify(value, null, indent));
const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

describe('slices', () => {
  it('return each member of an object with its exact text', () => {
    const members = fc.uniqueArray(fc.tuple(fc.string(), jsonText, space), { selector: ([key]) => key });

    fc.assert(
      fc.property(members, (entries) => {
        const rendered = entries.map(([key, text, gap]) => `${gap}${JSON.stringify(key)}${gap}:${gap}${text}${gap}`);
        const object = `{${rendered.join(',')}}`;

        for (const [key, text] of entries) expect(sliceMember(object, key)).toBe(text);
      }),
    );
  });

  it('return each element of an array with its exact text', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(jsonText, space)), (entries) => {
        const array = `[${entries.map(([text, gap]) => gap + text + gap).join(',')}]`;

        expect(sliceElements(`{"meta": {}, "rrsets": ${array}}`, 'rrsets')).toEqual(entries.map(([text]) => text));
      }),
    );
  });

  it('never throw for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.json().map((json) => json.slice(1)),
        ),
        fc.string(),
        (text, key) => {
          sliceMember(text, key);
          sliceElements(text, key);
        },
      ),
    );
  });
});
