import { clusterBodyLimits } from '@corral/contracts';
import { bytesOf, jsonObjectOf } from '@corral/http-api';
import type { Request } from 'express';
import { invalidField, Problem } from '../problem.js';
import { findUnstorable } from './storable.js';

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
