import type { Response } from 'express';

/** Sends JSON text as it is. `end` rather than `send`: no ETag is computed over the body and nothing is parsed. */
export function sendJsonText(res: Response, status: number, body: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  // All of it is about a team, and some of it is a secret.
  res.setHeader('Cache-Control', 'no-store');
  res.end(body);
}
