import type { Request, Response } from 'express';
import { type EntityTags, includesTag, type Preconditions, quoted } from '../changes/entity-tag.js';

const listed = /(W\/)?"([^"]*)"|([^\s,"]+)/g;

/**
 * Reads `If-Match` (RFC 9110 section 13.1.1). Weak tags are left out, because they match nothing there. A tag without
 * quotes is accepted.
 *
 * @returns null without the header
 */
function ifMatchOf(req: Request): EntityTags | null {
  return parseTags(req.headers['if-match'], 'strong');
}

/** Reads `If-None-Match` (RFC 9110 section 13.1.2), which compares weakly. @returns null without the header */
function ifNoneMatchOf(req: Request): EntityTags | null {
  return parseTags(req.headers['if-none-match'], 'weak');
}

export function preconditionsOf(req: Request): Preconditions {
  return { ifMatch: ifMatchOf(req), ifNoneMatch: ifNoneMatchOf(req) };
}

/** Answers a read with its entity tag, or with 304 when the client already has this version. */
export function sendTagged(req: Request, res: Response, tag: string, body: object): void {
  const known = ifNoneMatchOf(req);
  res.set({ ETag: quoted(tag), 'Cache-Control': 'private, no-cache' });
  if (known !== null && includesTag(known, tag)) res.status(304).end();
  else res.json(body);
}

function parseTags(header: string | undefined, comparison: 'strong' | 'weak'): EntityTags | null {
  if (header === undefined) return null;
  if (header.trim() === '*') return '*';
  return [...header.matchAll(listed)].flatMap(([, weak, quoted, bare]) =>
    weak !== undefined && comparison === 'strong' ? [] : [quoted ?? (bare as string)],
  );
}
