import { findHold, type Pool } from '@corral/database';
import type { RequestHandler } from 'express';
import { DnsError } from '../dns-error.js';

const RETRY_SECONDS = 60;

/** Refuses writes while an operator compares a restored database with the upstream. Reads are served from the mirror. */
export const refuseWhileHeld =
  (pool: Pool): RequestHandler =>
  async (_req, _res, next) => {
    if ((await findHold(pool)) === null) return next();
    throw new DnsError(
      'unavailable',
      'The operators have stopped changes for now. Nothing was changed. Send the request again later.',
      { retryAfterSeconds: RETRY_SECONDS },
    );
  };
