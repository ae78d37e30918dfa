import { describe, expect, it } from '@jest/globals';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { type ServerEvent, serverEventsOf } from './event-stream.js';

const end = fc.constantFrom('\n', '\r\n', '\r');
const value = fc.oneof(
  fc.string({ maxLength: 12 }).map((text) => text.replace(/[\r\n\0]/g, ' ')),
  fc.constantFrom('', ' ', ': ', 'data: x', '{"id":"1"}', 'ä→🙂'),
);
const field = fc.constantFrom('data', 'event', 'id', 'retry', 'Data', 'data ', '');
const line = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(field, fc.constantFrom(':', ': '), value).map((parts) => parts.join('')) },
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('data', 'event', ': heartbeat', ':', 'nonsense') },
);
/** A stream as bytes, cut anywhere. */
const cutStream = fc
  .tuple(
    fc.array(
      fc.tuple(line, end).map((parts) => parts.join('')),
      { maxLength: 30 },
    ),
    fc.array(fc.nat(600), { maxLength: 8 }),
  )
  .map(([lines, cuts]) => {
    const bytes = new TextEncoder().encode(lines.join(''));
    const places = [0, ...cuts.filter((cut) => cut <= bytes.length).sort((a, b) => a - b), bytes.length];
    return { text: lines.join(''), chunks: places.slice(1).map((to, index) => bytes.slice(places[index], to)) };
  });

async function read(chunks: readonly Uint8Array[], max = 10_000): Promise<ServerEvent[]> {
  async function* given() {
    yield* chunks;
  }
  const events: ServerEvent[] = [];
  for await (const event of serverEventsOf(given(), max)) events.push(event);
  return events;
}

function referenceOf(text: string): ServerEvent[] {
  const events: ServerEvent[] = [];
  const parser = createParser({
    onEvent: ({ event = 'message', data, id = null }) => void events.push({ event: event || 'message', data, id }),
  });
  parser.feed(text);
  return events;
}

describe('events of a server', () => {
  it('are read as eventsource-parser does, wherever their bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(cutStream, async ({ text, chunks }) => {
        expect(await read(chunks)).toEqual(referenceOf(text));
      }),
      { numRuns: 3000 },
    );
  });

  it('end with a carriage return that nothing follows', async () => {
    expect(await read([new TextEncoder().encode('data: x\r\r')])).toEqual([{ event: 'message', data: 'x', id: null }]);
  });

  it('are refused when a line or the data of one event is too large', async () => {
    const bytes = (text: string) => [new TextEncoder().encode(text)];

    await expect(read(bytes(`data: ${'x'.repeat(200)}`), 100)).rejects.toMatchObject({ code: 'answer_too_large' });
    await expect(read(bytes(`data: ${'x'.repeat(60)}\n`.repeat(3)), 100)).rejects.toMatchObject({
      code: 'answer_too_large',
    });
    expect(await read(bytes(`data: ${'x'.repeat(60)}\n\n`.repeat(3)), 100)).toHaveLength(3);
  });
});
