import { type ClusterQueryParameter, type ClusterRoute, clusterLimits, cutText, parseTime } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { type Cursor, parseCursor } from '../paging.js';
import { invalidField } from '../problem.js';

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
  if (after === null) throw invalidField('validation_failed', '/query/cursor', 'must be the `next` value of a page');
  return { limit, after };
}
