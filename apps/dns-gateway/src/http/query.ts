import type { Request } from 'express';

/** The query of a request with repeated keys kept: `type=A&type=TXT` are two types. */
export function queryOf(req: Request): URLSearchParams {
  const queryAt = req.url.indexOf('?');
  return new URLSearchParams(queryAt === -1 ? '' : req.url.slice(queryAt + 1));
}
