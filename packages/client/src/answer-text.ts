import { CorralError } from './corral-error.js';

/** Reads a body that must not be larger than `bytesMax`. @throws CorralError `answer_too_large` */
export async function textOf({ body }: Response, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of chunksOf(body)) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The lines of a text while it arrives, without their ends. @throws CorralError `answer_too_large` for one that is too long */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, charactersMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + decoder.decode(chunk, { stream: true });
    // The second half of a line end may still be on its way.
    const complete = text.endsWith('\r') ? text.slice(0, -1) : text;
    const lines = complete.split(/\r\n|\n|\r/);
    rest = lines.pop() + text.slice(complete.length);
    if (rest.length > charactersMax) throw tooLarge(charactersMax);
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest.replace(/\r$/, '');
}

/** Cancels the body when its reader stops. */
export async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    isDone = true;
  } finally {
    if (!isDone) await reader.cancel().catch(() => undefined);
  }
}

export const tooLarge = (max: number): CorralError =>
  new CorralError({ status: 0, code: 'answer_too_large', detail: `The answer is larger than ${max} bytes.` });
