import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseTraceparent, renderTraceparent } from './traces.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

describe('a traceparent', () => {
  it.each([
    ['a sampled trace', `00-${TRACE}-${PARENT}-01`],
    ['a trace that is not sampled', `00-${TRACE}-${PARENT}-00`],
    ['a later version with more parts', `cc-${TRACE}-${PARENT}-01-what-the-future-brings`],
  ])('is read as %s', (_what, header) => {
    const traceFlags = Number(header.slice(53, 55));

    expect(parseTraceparent(header)).toEqual({ traceId: TRACE, spanId: PARENT, traceFlags });
  });

  it.each([
    ['no header', undefined],
    ['two headers, as Node.js joins them', `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`],
    ['the forbidden version', `ff-${TRACE}-${PARENT}-01`],
    ['version 00 with more parts', `00-${TRACE}-${PARENT}-01-more`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['upper case', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
    ['a line break at the end', `00-${TRACE}-${PARENT}-01\n`],
    ['a huge header', `01-${TRACE}-${PARENT}-01-${'x'.repeat(10_000)}`],
  ])('is ignored as %s', (_what, header) => {
    expect(parseTraceparent(header)).toBeNull();
  });

  it('gives nothing but ids, whatever the header is, and is read as it was rendered', () => {
    const parts = fc.constantFrom('00', '01', 'ff', TRACE, PARENT, '-', ',', ' ', '\n', '"', 'é');
    const header = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(parts, { maxLength: 9 }).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(header, (text) => {
        const parsed = parseTraceparent(text);
        if (parsed === null) return;
        expect(parsed.traceId).toMatch(/^[0-9a-f]{32}$/);
        expect(parseTraceparent(renderTraceparent(parsed))).toEqual(parsed);
      }),
    );
  });
});
