import { pipeline } from 'node:stream/promises';
import { setAside } from '@corral/service';
import type { Request, Response } from 'express';

const JSON_LINES = 'application/x-ndjson; charset=utf-8';

/**
 * Sends documents as they are read, one per line (https://github.com/ndjson/ndjson-spec). The next ones are not read
 * before the connection has taken these, so memory holds a batch or two, however long the answer is and however slowly
 * somebody reads it.
 *
 * What fails before the first line is an error as usual. What fails later cuts the connection: a client that got the
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
  // From here on its speed is the reader's.
  setAside(res);
  const texts = async function* (): AsyncGenerator<string> {
    if (first.done) return;
    yield linesOf(first.value);
    for await (const batch of batches) yield linesOf(batch);
  };
  try {
    await pipeline(texts, res);
  } catch (error) {
    if (!isLeft(error)) throw error;
  }
}

const linesOf = (batch: readonly object[]): string => batch.map((each) => `${JSON.stringify(each)}\n`).join('');

/** The client went away: that is its own affair. */
const isLeft = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
