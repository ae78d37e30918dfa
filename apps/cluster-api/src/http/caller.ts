import { type Membership, roleCovers, type Session, sessionOf } from '@corral/auth';
import type { RouteAccess } from '@corral/contracts';
import { clientGone, setAside } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { Asking, Caller } from '../changes/caller.js';
import { notFound, Problem } from '../problem.js';

/** The request as those see it who do what it asks for. */
export function askingOf(res: Response): Asking {
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
      ...askingOf(res),
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
