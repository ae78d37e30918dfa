import type { Request, Response } from 'express';

/**
 * Sends text as it is, with `Cache-Control: no-store`. It uses `end` rather than `send`, which would compute an ETag over the
 * body, and names its headers with the head: see `writeWithHead`. `res.locals.bytes` is the length of the body.
 *
 * @param type the whole `Content-Type`
 */
export function sendText(res: Response, status: number, type: string, body: string): void {
  const bytes = Buffer.byteLength(body);
  res.locals.bytes = bytes;
  // The text concerns a team or a person and may hold a secret.
  res.writeHead(status, ['Content-Type', type, 'Content-Length', String(bytes), 'Cache-Control', 'no-store']);
  // ASCII has the same bytes in both encodings, and Node.js reserves three times the length of a UTF-8 text.
  res.end(body, bytes === body.length ? 'latin1' : 'utf8');
}

/** Sends JSON text as it is. */
export function sendJsonText(res: Response, status: number, body: string): void {
  sendText(res, status, 'application/json; charset=utf-8', body);
}

/** The query of a request. Repeated keys are kept: `type=A&type=TXT` are two types. */
export function queryOf(req: Request): URLSearchParams {
  const queryAt = req.url.indexOf('?');
  return new URLSearchParams(queryAt === -1 ? '' : req.url.slice(queryAt + 1));
}
