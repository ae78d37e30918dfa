import { createHash } from 'node:crypto';
import type { OperationRecord } from '@corral/cluster-data';
import { clusterLimits, nextLookSeconds } from '@corral/contracts';
import { bytesOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { KeyedRequest } from '../changes/caller.js';
import { type EntityTags, includesTag, type Preconditions, quoted } from '../changes/entity-tag.js';
import { type OperationContext, operationUrl } from '../operations/view.js';
import { invalidField } from '../problem.js';

const wellFormed = new RegExp(`^[\\x21-\\x7e]{1,${clusterLimits.idempotencyKeyCharacters}}$`);

/**
 * Refuses `Idempotency-Key` on routes that ignore it, because clients that send one rely on it.
 *
 * @throws Problem `validation_failed`
 */
export const refuseIdempotencyKey: RequestHandler = (req, _res, next) => {
  if (req.headers['idempotency-key'] === undefined) return next();
  const wrong = 'has no effect here. Omit it: this request is safe to repeat without a key';
  throw invalidField('validation_failed', '/headers/Idempotency-Key', wrong);
};

/**
 * Reads `Idempotency-Key`, with a digest of the request.
 *
 * @returns null without the header
 * @throws Problem `validation_failed` for an invalid key
 */
export function idempotencyKeyOf(req: Request): KeyedRequest | null {
  const key = req.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !wellFormed.test(key)) {
    throw invalidField(
      'validation_failed',
      '/headers/Idempotency-Key',
      `must have 1 to ${clusterLimits.idempotencyKeyCharacters} visible ASCII characters`,
    );
  }
  const path = req.path.replace(/\/$/, '');
  const requestHash = createHash('sha256').update(`${req.method} ${path}\n`).update(bytesOf(req)).digest();
  return { key, requestHash };
}

/** Says where and when to look at an operation that a request has begun. */
export function announceOperation(
  res: Response,
  operation: Pick<OperationRecord, 'id' | 'kind' | 'state' | 'waiting'>,
  context: OperationContext,
): void {
  res.set('Operation-Location', operationUrl(operation, context));
  res.set('Retry-After', String(nextLookSeconds(operation)));
}

/** The preference `wait` among others, at most so long that a number is exact (RFC 7240). */
const waitIn = /(?:^|,)[ \t]*wait[ \t]*=[ \t]*"?(\d{1,9})"?[ \t]*(?:[;,]|$)/i;

/** @returns the seconds for which the client prefers to wait, bounded; 0 for none, and for one that is not valid */
export function preferredWaitSeconds({ headers }: Pick<Request, 'headers'>): number {
  const text = [headers.prefer ?? []].flat().join(', ');
  return Math.min(Number(waitIn.exec(text)?.[1] ?? 0), clusterLimits.operationWaitSecondsMax);
}

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
