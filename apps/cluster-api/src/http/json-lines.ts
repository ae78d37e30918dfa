import { pipeline } from 'node:stream/promises';
import { outside } from '@corral/admission';
import { scopeOf } from '@corral/http-api';
import type { Request, Response } from 'express';

const JSON_LINES = 'application/x-ndjson; charset=utf-8';

/**
 * Streams documents, one per line (https://github.com/ndjson/ndjson-spec). The next batch is read only after the
 * connection took the previous one, so memory holds a batch or two, whatever the length of the answer.
 *
 * An error before the first line is answered as usual. A later one cuts the connection, so a client that received the
 * end of the answer has all of it.
 */
export async function sendJsonLines(
  req: Request,
  res: Response,
  batches: AsyncGenerator<readonly object[]>,
  fileName: string,
): Promise<void> {
  const first = await batches.next();
  res.setHeader('Content-Type', JSON_LINES);
  res.setHeader('Content-Disposition', `attachment; filename="${fileName}"`);
  if (req.method === 'HEAD') {
    await batches.return(undefined);
    res.end();
    return;
  }
  const texts = async function* (): AsyncGenerator<string> {
    if (first.done) return;
    yield linesOf(first.value);
    for await (const batch of batches) yield linesOf(batch);
  };
  try {
    // From here on the client determines the speed.
    await outside(scopeOf(res), () => pipeline(texts, res));
  } catch (error) {
    if (!isLeft(error)) throw error;
  }
}

const linesOf = (batch: readonly object[]): string => batch.map((each) => `${JSON.stringify(each)}\n`).join('');

/** Whether the client disconnected, which is not an error. */
const isLeft = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
