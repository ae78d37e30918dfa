import { clusterBodyLimits } from '@corral/contracts';
import { bytesOf, jsonObjectOf } from '@corral/http-api';
import type { Request } from 'express';
import { invalidField, Problem } from '../problem.js';
import { findUnstorable } from './storable.js';

/**
 * The body of a request as parsed JSON, for a schema to judge.
 *
 * @param absent what an absent body stands for; without it a body is required
 * @throws Problem `unsupported_media_type`, or `validation_failed` for what Postgres cannot hold
 * @throws UnreadableBody for what is no JSON object, is past its bounds, or has a member twice
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
    throw new Problem('validation_failed', `${unstorable.pointer || 'The body'} ${unstorable.message}.`, {
      errors: [unstorable],
    });
  }
  return body;
}

/**
 * Checks what a body that was read before says it is about.
 *
 * @param field of `metadata`
 * @param named undefined where it says nothing
 * @throws Problem `validation_failed` when that is something else than the path says
 */
export function checkNamed(field: 'name' | 'ref', named: unknown, path: string): void {
  if (named === undefined || named === null || named === path) return;
  throw invalidField('validation_failed', `/metadata/${field}`, `must match the path, ${path}`);
}
