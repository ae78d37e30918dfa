import { sessionCookieOf, sessionOf } from '@corral/auth';
import { type FlightBound, type FlightBoundOptions, flightBound } from '@corral/service';
import type { Request, RequestHandler } from 'express';
import { Problem } from '../problem.js';
import { sendProblem } from './error-handler.js';

/** Bounds the work in flight: that of a team is all requests of its members about it. */
export function clusterFlights(
  publicUrl: () => string,
  options: Omit<FlightBoundOptions, 'claimOf' | 'refuse' | 'send'>,
): Pick<FlightBound, 'check'> & { readonly ownBySession: RequestHandler } {
  const { check, belongsTo } = flightBound({
    ...options,
    claimOf(req) {
      const cookie = sessionCookieOf(req);
      return cookie === null ? null : `${cookie} ${teamIn(req) ?? ''}`;
    },
    refuse: (sentence, retryAfterSeconds) => new Problem('service_unavailable', sentence, { retryAfterSeconds }),
    send: (res, problem) => sendProblem(res, problem, publicUrl),
  });
  return {
    check,
    /** Once the session is looked up. */
    ownBySession(req, res, next) {
      const session = sessionOf(res);
      if (session !== null) {
        const named = teamIn(req);
        const membership = session.memberships.find(
          ({ slug, teamNumber }) => slug === named || String(teamNumber) === named,
        );
        belongsTo(res, membership === undefined ? `user ${session.userId}` : `team ${membership.teamId}`);
      }
      next();
    },
  };
}

/** The slug or number of a team, as paths begin with it. */
const teamIn = ({ path }: Request): string | null =>
  /^\/(?:api\/v1\/teams|a|teams\/api\/teams)\/([^/]+)/.exec(path)?.[1] ?? null;
