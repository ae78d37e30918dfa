import type { Request, Response } from 'express';
import { type EntityTags, includesTag, type Preconditions, quoted } from '../changes/entity-tag.js';

const listed = /(?:W\/)?"([^"]*)"|([^\s,"]+)/g;

/**
 * Reads `If-Match` or `If-None-Match` (RFC 9110 section 13.1). Proxies that compress answers turn `"…"` into `W/"…"`, and
 * clients send that back: the mark is ignored in both, although `If-Match` would match no weak tag. A tag without quotes is
 * accepted.
 *
 * @returns null without the header
 */
function tagsIn(header: string | undefined): EntityTags | null {
  if (header === undefined) return null;
  if (header.trim() === '*') return '*';
  return [...header.matchAll(listed)].map(([, quoted, bare]) => quoted ?? (bare as string));
}

export function preconditionsOf(req: Request): Preconditions {
  return { ifMatch: tagsIn(req.headers['if-match']), ifNoneMatch: tagsIn(req.headers['if-none-match']) };
}

/** Answers a read with its entity tag, or with 304 when the client already has this version. */
export function sendTagged(req: Request, res: Response, tag: string, body: object): void {
  const known = tagsIn(req.headers['if-none-match']);
  res.set({ ETag: quoted(tag), 'Cache-Control': 'private, no-cache' });
  if (known !== null && includesTag(known, tag)) res.status(304).end();
  else res.json(body);
}
