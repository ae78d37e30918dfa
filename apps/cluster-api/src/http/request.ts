import { createHash } from 'node:crypto';
import {
  type ClusterQueryParameter,
  type ClusterRoute,
  clusterBodyLimits,
  clusterLimits,
  cutText,
  nextLookSeconds,
  type OperationId,
  type OperationKind,
  type OperationState,
  parseTime,
  pointerPart,
} from '@corral/contracts';
import { bytesOf, jsonObjectOf, queryOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { KeyedRequest } from '../changes/caller.js';
import { type EntityTags, includesTag, type Preconditions, quoted } from '../changes/entity-tag.js';
import { type OperationContext, operationUrl } from '../operations/view.js';
import { type Cursor, parseCursor } from '../paging.js';
import { invalidField, Problem } from '../problem.js';

/* What a request says in its query, headers and body, and the headers of its answer. */

/**
 * Refuses parameters that are unknown, missing, repeated or of the wrong type. If a misspelt `dryRun` were ignored, the request
 * would make the change.
 */
export function checkQuery(route: ClusterRoute): RequestHandler {
  if (route.anyQuery) return (_req, _res, next) => next();
  const known = new Map((route.query ?? []).map((parameter) => [parameter.name, parameter]));
  const required = [...known.values()].filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return (req, _res, next) => {
    const query = queryOf(req);
    const missing = required.find((name) => !query.has(name));
    if (missing !== undefined) throw invalidField('validation_failed', `/query/${missing}`, 'is required');
    for (const name of new Set(query.keys())) {
      const parameter = known.get(name);
      const wrong = parameter === undefined ? unknownParameter(route, name) : problemOf(parameter, query.getAll(name));
      if (wrong !== null) throw invalidField('validation_failed', `/query/${cutText(name, 64)}`, wrong);
    }
    next();
  };
}

const unknownParameter = ({ method }: ClusterRoute, name: string): string =>
  name === 'dryRun' && method !== 'get'
    ? 'is not supported by this request: it has no dry run, and nothing was changed'
    : 'is not a known parameter: check its spelling, or leave it out';

function problemOf(parameter: ClusterQueryParameter, texts: readonly string[]): string | null {
  if (texts.length > 1 && !parameter.isRepeatable) return 'must be given only once';
  if (new Set(texts).size < texts.length) return 'must not repeat a value';
  for (const text of texts) {
    const problem = problemOfValue(parameter, text);
    if (problem !== null) return problem;
  }
  return null;
}

function problemOfValue({ type, values }: ClusterQueryParameter, text: string): string | null {
  if (text.includes('\0')) return 'must not contain the character NUL';
  if (type === 'boolean' && text !== 'true' && text !== 'false') return 'must be true or false';
  if (type === 'integer' && !/^\d{1,9}$/.test(text)) return 'must be a whole number of at most 9 digits';
  if (type === 'time' && parseTime(text) === null) return 'must be a time such as 2026-11-21T12:00:00Z';
  if (values !== undefined && !values.includes(text)) return `must be one of ${values.join(', ')}`;
  return null;
}

/** Whether the request makes a change or only previews it. */
export const purposeOf = (req: Request): 'apply' | 'dryRun' =>
  queryOf(req).get('dryRun') === 'true' ? 'dryRun' : 'apply';

export interface Paging {
  readonly limit: number;
  /** The sort key of the last item of the previous page. Null for the first page. */
  readonly after: Cursor | null;
}

/**
 * Reads `limit` and `cursor`.
 *
 * @param fields the number of values of the sort key
 * @throws Problem `validation_failed`
 */
export function parsePaging(req: Request, fields: number): Paging {
  const query = queryOf(req);
  const limit = Number(query.get('limit') ?? clusterLimits.listItemsDefault);
  if (limit < 1 || limit > clusterLimits.listItemsMax) {
    throw invalidField('validation_failed', '/query/limit', `must be from 1 to ${clusterLimits.listItemsMax}`);
  }
  const text = query.get('cursor');
  if (text === null) return { limit, after: null };
  const after = parseCursor(text, fields);
  if (!after?.every(isText))
    throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  return { limit, after };
}

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

/** What clients learn of an operation that begins. */
interface AnnouncedOperation {
  readonly id: OperationId;
  readonly kind: OperationKind;
  readonly state: OperationState;
  readonly waiting: object | null;
}

/** Says where and when to look at an operation that a request has begun. */
export function announceOperation(res: Response, operation: AnnouncedOperation, context: OperationContext): void {
  res.set('Operation-Location', operationUrl(operation, context));
  res.set('Retry-After', String(nextLookSeconds(operation)));
}

/** The preference `wait` among others, at most so long that a number is exact (RFC 7240). */
const waitIn = /(?:^|,)[ \t]*wait[ \t]*=[ \t]*"?(\d{1,9})"?[ \t]*(?:[;,]|$)/i;

/** @returns the seconds for which the client prefers to wait, bounded; 0 for none, and for one that is not valid */
export function preferredWaitSeconds({ headers }: Request): number {
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

/** Whether Postgres can store it: its texts contain no NUL, and half a surrogate pair is not valid Unicode. */
const isText = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);

export interface UnstorableValue {
  /** JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly message: string;
}

/**
 * Finds a JSON value that Postgres cannot store: a text or member name with NUL or half a surrogate pair, or a number
 * that is too large for a double.
 *
 * @param value nested no deeper than bodies may be
 * @returns null when everything can be stored
 */
export function findUnstorable(value: unknown): UnstorableValue | null {
  if (typeof value === 'string' && !isText(value)) {
    return { pointer: '', message: 'must not contain the character NUL or half of a surrogate pair' };
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return { pointer: '', message: 'must be a smaller number' };
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    if (!isText(name)) {
      const wrong = 'a member whose name contains the character NUL or half of a surrogate pair';
      return { pointer: '', message: `must not have ${wrong}` };
    }
    const inside = findUnstorable(member);
    if (inside !== null) return { ...inside, pointer: `/${pointerPart(cutText(name, 64))}${inside.pointer}` };
  }
  return null;
}

/**
 * Returns the body of a request as parsed JSON. A schema has not checked it yet.
 *
 * @param absent the value of an absent body. Without it, a body is required
 * @throws Problem `unsupported_media_type`, or `validation_failed` for values that Postgres cannot store
 * @throws RequestFault for a body that is not a JSON object, exceeds its limits, or repeats a member
 */
export function bodyOf(req: Request, { absent }: { absent?: object } = {}): object {
  if (absent !== undefined && bytesOf(req).length === 0) return absent;
  const { value: body } = jsonObjectOf(req, {
    bounds: clusterBodyLimits,
    takesType: (type) => /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type ?? ''),
    refuseType: () =>
      new Problem('unsupported_media_type', 'Send the body as JSON, with Content-Type: application/json.'),
  });
  const unstorable = findUnstorable(body);
  if (unstorable !== null) {
    throw invalidField('validation_failed', unstorable.pointer, unstorable.message);
  }
  return body;
}

/**
 * Checks that the name in a body matches the path. Clients may send back the body of a GET.
 *
 * @param field of `metadata`
 * @param named undefined when the body has no name
 * @throws Problem `validation_failed` when they differ
 */
export function checkNamed(field: 'name' | 'ref', named: unknown, path: string): void {
  if (named === undefined || named === null || named === path) return;
  throw invalidField('validation_failed', `/metadata/${field}`, `must match the path, ${path}`);
}

/** Every answer contains data of a team or a person. */
export const noStore: RequestHandler = (_req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  next();
};
