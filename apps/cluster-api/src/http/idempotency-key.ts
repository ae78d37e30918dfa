import { createHash } from 'node:crypto';
import { clusterLimits } from '@corral/contracts';
import { bytesOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import type { KeyedRequest } from '../changes/caller.js';
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
