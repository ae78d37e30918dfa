import { type Membership, roleCovers, type Session, sessionCookieOf, sessionOf } from '@corral/auth';
import type { RouteAccess } from '@corral/contracts';
import { clientGone, setAside } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { Caller, RequestContext } from '../changes/caller.js';
import { notFound, Problem } from '../problem.js';

/** The request as those see it who do what it asks for. */
export function requestContextOf(res: Response): RequestContext {
  return { requestId: res.locals.requestId, gone: clientGone(res), setAside: () => setAside(res) };
}

/**
 * Lets those pass whom the route table admits. A team that the caller does not belong to does not exist for them: the
 * answer is that of a missing thing, to the letter.
 */
export function admit(access: RouteAccess): RequestHandler {
  return (req, res, next) => {
    if (access === 'public') return next();
    const session = sessionOf(res);
    if (session === null) {
      throw new Problem('authentication_required', 'There is no session, or it has expired. Sign in and try again.');
    }
    if (access === 'session') return next();
    const membership = session.memberships.find(isNamedBy(req.params));
    if (membership === undefined) throw notFound();
    if (!roleCovers(membership.role, access)) {
      throw new Problem('permission_denied', 'Only administrators of the team can do this. Ask one of them.');
    }
    res.locals.team = membership.slug;
    res.locals.caller = {
      userId: session.userId,
      team: { id: membership.teamId, slug: membership.slug },
      role: membership.role,
      ...requestContextOf(res),
    } satisfies Caller;
    next();
  };
}

/** Paths name a team by its slug, or by its number in canonical form. */
function isNamedBy({ team, team_slug, team_id }: Request['params']): (membership: Membership) => boolean {
  if (team_id !== undefined) return ({ teamNumber }) => String(teamNumber) === team_id;
  return ({ slug }) => slug === (team ?? team_slug);
}

/** Who is signed in. Throws on routes that admit strangers. */
export function signedInOf(res: Response): Session {
  const session = sessionOf(res);
  if (session === null) throw new Error('The route admits strangers, but asks who they are');
  return session;
}

/** Who asks, in the team of the path. Throws on routes that are no team's. */
export function callerOf(res: Response): Caller {
  const caller: Caller | undefined = res.locals.caller;
  if (caller === undefined) throw new Error('The route is no team’s, but asks for a caller in one');
  return caller;
}

const harmless = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes that a page of another origin asks for, with the cookie of whoever looks at it. Browsers say where a
 * request comes from; what says nothing, such as curl, is no browser and sends no cookie by itself.
 */
export function refuseCrossSite(publicUrl: () => string): RequestHandler {
  return (req, _res, next) => {
    if (harmless.has(req.method)) return next();
    const { origin, 'sec-fetch-site': site } = req.headers;
    const foreignOrigin = origin !== undefined && origin !== new URL(publicUrl()).origin;
    const foreignSite = site !== undefined && site !== 'same-origin' && site !== 'none';
    if (foreignOrigin || foreignSite) {
      throw new Problem(
        'cross_site_request',
        `Changes are accepted only from pages of ${new URL(publicUrl()).origin}.`,
      );
    }
    next();
  };
}

/** What a request claims about its sender: its session, and the team in its path. */
export function unverifiedFlightOwnerOf(req: Request): string | null {
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
