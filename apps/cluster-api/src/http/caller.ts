import { type Membership, type Session, sessionCookieOf, sessionOf } from '@corral/auth';
import { type Role, type RouteAccess, roleCovers } from '@corral/contracts';
import { clientGone, setAside } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { Caller, RequestContext } from '../changes/caller.js';
import { notFound, Problem } from '../problem.js';

/** The context of the request, for use cases, which do not know Express. */
export function requestContextOf(res: Response): RequestContext {
  return { requestId: res.locals.requestId, gone: clientGone(res), setAside: () => setAside(res) };
}

/**
 * Admits the callers that the route table allows. A team that the caller does not belong to is answered exactly like a
 * team that does not exist.
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
      throw new Problem('permission_denied', roleNeeded[access]);
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

const roleNeeded: Readonly<Record<Role, string>> = {
  admin: 'Only administrators of the team can do this. Ask one of them.',
  member: 'Viewers of the team can only read. Ask an administrator for the role member.',
  viewer: 'Only people of the team can do this.',
};

/** Paths name a team by its slug, or by its number in canonical form. */
function isNamedBy({ team, team_slug, team_id }: Request['params']): (membership: Membership) => boolean {
  if (team_id !== undefined) return ({ teamNumber }) => String(teamNumber) === team_id;
  return ({ slug }) => slug === (team ?? team_slug);
}

/** The session of the request. @throws Error on public routes without one */
export function signedInOf(res: Response): Session {
  const session = sessionOf(res);
  if (session === null) throw new Error('The route is public, but its handler needs a session');
  return session;
}

/** The caller, in the team of the path. @throws Error on routes without a team */
export function callerOf(res: Response): Caller {
  const caller: Caller | undefined = res.locals.caller;
  if (caller === undefined) throw new Error('The route has no team, but its handler needs a caller in one');
  return caller;
}

const harmless = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes that a page of another origin requests with the cookie of its visitor. Browsers state the origin of a
 * request. Other clients, such as curl, send cookies only on purpose.
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

/** The sender of a request before its session is looked up: the cookie, and the team in the path. */
export function unverifiedFlightOwnerOf(req: Request): string | null {
  const cookie = sessionCookieOf(req);
  return cookie === null ? null : `${cookie} ${teamIn(req) ?? ''}`;
}

/** The owner of a request once its session is looked up: the team in the path for its members, otherwise the user. */
export function flightOwnerOf(req: Request, res: Response): string | null {
  const session = sessionOf(res);
  if (session === null) return null;
  const named = teamIn(req);
  const membership = session.memberships.find(({ slug, teamNumber }) => slug === named || String(teamNumber) === named);
  return membership === undefined ? `user ${session.userId}` : `team ${membership.teamId}`;
}

/** The slug or number of the team at the start of a path. */
const teamIn = ({ path }: Request): string | null =>
  /^\/(?:api\/v1\/teams|a|teams\/api\/teams)\/([^/]+)/.exec(path)?.[1] ?? null;
