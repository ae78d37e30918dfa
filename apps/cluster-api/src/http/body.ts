import { clusterBodyLimits, cutText } from '@corral/contracts';
import { bytesOf, jsonObjectOf } from '@corral/http-api';
import type { Request } from 'express';
import { invalidField, Problem } from '../problem.js';

export interface UnstorableValue {
  /** JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly message: string;
}

/**
 * Finds a JSON value that Postgres cannot store: a text or member name with NUL or half a surrogate pair, or a number
 * that is too large for a double.
 *
 * @returns null when everything can be stored
 */
export function findUnstorable(body: unknown): UnstorableValue | null {
  const left: { value: unknown; pointer: string }[] = [{ value: body, pointer: '' }];
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    const { value, pointer } = place;
    if (typeof value === 'string' && !isText(value))
      return { pointer, message: 'must not contain the character NUL or half of a surrogate pair' };
    if (typeof value === 'number' && !Number.isFinite(value)) return { pointer, message: 'must be a smaller number' };
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (!isText(name))
        return {
          pointer,
          message: 'must not have a member whose name contains the character NUL or half of a surrogate pair',
        };
      left.push({ value: member, pointer: `${pointer}/${escaped(name)}` });
    }
  }
  return null;
}

/** Postgres texts contain no NUL, and half a surrogate pair is not valid Unicode. */
export const isText = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);
const escaped = (name: string): string => cutText(name, 64).replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * Returns the body of a request as parsed JSON. A schema has not checked it yet.
 *
 * @param absent the value of an absent body. Without it, a body is required
 * @throws Problem `unsupported_media_type`, or `validation_failed` for values that Postgres cannot store
 * @throws UnreadableBody for a body that is not a JSON object, exceeds its limits, or repeats a member
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
