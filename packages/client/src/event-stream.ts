import { linesOf, tooLarge } from './answer-text.js';

/** An event as a server sends it. `id` is null if it has none of its own. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | null;
}

/** Reads Server-Sent Events, https://html.spec.whatwg.org/multipage/server-sent-events.html. @throws CorralError for one that is too large */
export async function* serverEventsOf(
  chunks: AsyncIterable<Uint8Array>,
  charactersMax: number,
): AsyncGenerator<ServerEvent> {
  let event = '';
  let data: string[] = [];
  let size = 0;
  let id: string | null = null;
  for await (const line of linesOf(chunks, charactersMax)) {
    if (line === '') {
      if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id };
      event = '';
      data = [];
      size = 0;
      id = null;
      continue;
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as RegExpExecArray;
    if (field === 'event') event = value;
    if (field === 'id' && !value.includes('\0')) id = value;
    if (field === 'data') {
      size += value.length;
      if (size > charactersMax) throw tooLarge(charactersMax);
      data.push(value);
    }
  }
}
