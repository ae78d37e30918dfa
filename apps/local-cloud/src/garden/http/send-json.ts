import type { Response } from 'express';

/** Answers with JSON under the bare media type, as an API server does: Express would add a charset. */
export function sendJson(res: Response, status: number, body: unknown): void {
  sendText(res, status, JSON.stringify(body));
}

/** The same for JSON that is text already. */
export function sendText(res: Response, status: number, json: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Content-Length', Buffer.byteLength(json));
  res.end(json);
}
