import { sessionCookieOf, sessionOf } from '@corral/auth';
import type { TeamId } from '@corral/contracts';
import { placesPerKey } from '@corral/rate-limit';
import type { Request, Response } from 'express';
import { Problem } from '../problem.js';

/** What a request claims about its sender: its session, and the team in its path. */
export function flightClaimOf(req: Request): string | null {
  const cookie = sessionCookieOf(req);
  return cookie === null ? null : `${cookie} ${teamIn(req) ?? ''}`;
}

/** Whose work a request is, once its session is looked up. Requests of members about a team are the team's. */
export function flightOwnerOf(req: Request, res: Response): string | null {
  const session = sessionOf(res);
  if (session === null) return null;
  const named = teamIn(req);
  const membership = session.memberships.find(({ slug, teamNumber }) => slug === named || String(teamNumber) === named);
  return membership === undefined ? `user ${session.userId}` : `team ${membership.teamId}`;
}

/** The slug or number of a team, as paths begin with it. */
const teamIn = ({ path }: Request): string | null =>
  /^\/(?:api\/v1\/teams|a|teams\/api\/teams)\/([^/]+)/.exec(path)?.[1] ?? null;

const RETRY_SECONDS = 10;
const SHARE_OF_TEAM = 1 / 4;

export interface Places {
  readonly perTeam: number;
  readonly perProcess: number;
}

/**
 * Bounds what runs long: so much of it at once per key, and who asks for more is told to come back.
 *
 * @param what in the plural, for the refusal
 */
export function refuseBeyond(max: number, what: string) {
  const places = placesPerKey(max);
  /** @throws Problem `rate_limit_exceeded` */
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const leave = places.enter(key);
    if (leave === null) {
      const detail = `${what}: the limit is ${max} at the same time. Wait until one has finished.`;
      throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: RETRY_SECONDS });
    }
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

/**
 * The same for work of teams: what a process has places for is never held by one or a few of them, so others find some.
 *
 * @param what in the plural, for the refusal
 */
export function placesOfTeams({ perTeam, perProcess }: Places, what: string) {
  const share = Math.max(1, Math.floor(perProcess * SHARE_OF_TEAM));
  const ofTeam = refuseBeyond(Math.min(perTeam, share), `${what} of the team`);
  const ofProcess = refuseBeyond(perProcess, `${what} of this replica`);
  /** @throws Problem `rate_limit_exceeded` */
  return <T>(teamId: TeamId, work: () => Promise<T>): Promise<T> => ofTeam(teamId, () => ofProcess('', work));
}
