import { isHeldIn, type Pool } from '@corral/database';
import type { RequestHandler } from 'express';
import { changesAreHeld } from '../dns-error.js';

/** Refuses changes of demos during a hold. Writes of record sets read the hold with their quota instead. */
export const refuseWhileHeld =
  (pool: Pool): RequestHandler =>
  async (_req, _res, next) => {
    if (await isHeldIn(pool)) throw changesAreHeld();
    next();
  };
