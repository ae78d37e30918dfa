import { accountOf, sessionOf } from '@corral/auth';
import type { ClusterRoute } from '@corral/contracts';
import { isHeld, type Prisma } from '@corral/database';
import type { RequestHandler } from 'express';
import { Problem } from '../problem.js';
import { purposeOf } from './query.js';

const RETRY_SECONDS = 60;

/** Whether a route changes what teams own. During a hold people can sign in and out, and read record sets in the console. */
export const isRefusedWhileHeld = ({ method, path }: Pick<ClusterRoute, 'method' | 'path'>): boolean =>
  method !== 'get' && !path.startsWith('/auth/') && !path.endsWith('/dns-session/');

/**
 * Refuses changes during a hold. They are not queued: a declaration that was accepted before the operators know what the
 * garden has would be compared with the state of an old backup.
 */
export const refuseWhileHeld =
  (prisma: Prisma): RequestHandler =>
  async (req, res, next) => {
    if (purposeOf(req) === 'dryRun') return next();
    const known = (sessionOf(res) ?? accountOf(res))?.isHeld;
    if (!(known ?? (await isHeld(prisma)))) return next();
    throw new Problem(
      'service_unavailable',
      'The operators have stopped changes for now. Nothing was changed. Try again later.',
      { retryAfterSeconds: RETRY_SECONDS },
    );
  };
