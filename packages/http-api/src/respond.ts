import type { Request, Response } from 'express';

/**
 * Sends text as it is, with `Cache-Control: no-store`. It uses `end` rather than `send`, which would add a charset to the type and answer
 * 304 to `If-None-Match: *`.
 *
 * @param type the whole `Content-Type`
 */
export function sendText(res: Response, status: number, type: string, body: string): void {
  res.status(status);
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', Buffer.byteLength(body));
  // The text concerns a team or a person and may hold a secret.
  res.setHeader('Cache-Control', 'no-store');
  res.end(body);
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
