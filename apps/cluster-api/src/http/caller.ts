import { hash } from 'node:crypto';
import {
  type AccountVerifier,
  bearerToken,
  type CallingAccount,
  SESSION_COOKIE,
  type Session,
  type SessionStore,
  sessionSecretOf,
  type UseRecorder,
} from '@corral/auth';
import {
  type AccountRefusal,
  type ClusterRoute,
  clusterParameterOf,
  dryRunOf,
  type Role,
  refusalOfAccount,
  roleCovers,
} from '@corral/contracts';
import { isHeld, type Prisma } from '@corral/database';
import { scopeOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import type { Caller, PersonCaller, RequestContext } from '../changes/caller.js';
import { notFound, Problem, teamSuspended } from '../problem.js';
import { purposeOf } from './request.js';

/** The context of the request, for use cases, which do not know Express. */
export function requestContextOf(res: Response): RequestContext {
  return { requestId: res.locals.requestId, scope: scopeOf(res) };
}

/** The sessions of people and the tokens of service accounts, and the records of their use. */
export interface Credentials {
  readonly sessions: SessionStore;
  readonly sessionUse: UseRecorder;
  readonly accounts: AccountVerifier;
  readonly accountUse: UseRecorder;
}

/**
 * Looks up the session or the service account of a request, if any, and notes its use. Routes decide whether they require one. A
 * request with a bearer token has no session: with both, it has neither.
 */
export function callerLoader({ sessions, sessionUse, accounts, accountUse }: Credentials): RequestHandler {
  return async (req, res, next) => {
    res.locals.account = null;
    res.locals.session = null;
    if (sendsBearer(req)) {
      const token = sendsSession(req) ? null : bearerToken(req.rawHeaders);
      const account = token === null ? null : await accounts.find(token);
      res.locals.account = account;
      res.locals.tokenId = account?.tokenId;
      if (account !== null) accountUse.note(account.tokenId);
    } else {
      const secret = sessionCookieOf(req);
      const session = secret === null ? null : await sessions.find(secret);
      res.locals.session = session;
      if (session !== null) sessionUse.note(session.id);
    }
    next();
  };
}

/** The text of the request's session cookie, whether or not the session exists. */
export const sessionCookieOf = (req: Request): string | null => sessionSecretOf(req.headers.cookie);

/** Whether the request has a bearer token in any Authorization header. Other schemes belong to proxies in front. */
const sendsBearer = ({ rawHeaders }: Request): boolean =>
  rawHeaders.some(
    (name, at) =>
      at % 2 === 0 && name.toLowerCase() === 'authorization' && /^\s*bearer\b/i.test(rawHeaders[at + 1] ?? ''),
  );

/** Whether the request has a session cookie, valid or not. */
const sendsSession = ({ headers }: Request): boolean =>
  (headers.cookie ?? '').split(';').some((pair) => pair.trim().startsWith(`${SESSION_COOKIE}=`));

/**
 * The stored form of what `callerLoader` looks up for a request, whether it exists or not. Null for a request with no credential, or
 * with two.
 */
export function credentialHashOf(req: Request): string | null {
  if (!sendsBearer(req)) return hashOf(sessionCookieOf(req));
  return sendsSession(req) ? null : hashOf(bearerToken(req.rawHeaders));
}

const hashOf = (text: string | null): string | null => (text === null ? null : hash('sha256', text, 'base64'));

/** The service account of the request; null for people and requests without credentials. Throws where `callerLoader` has not run. */
export function accountOf(res: Response): CallingAccount | null {
  const account: CallingAccount | null | undefined = res.locals.account;
  if (account === undefined) throw new Error('The route asks for an account that was never looked for');
  return account;
}

/** The session of the request; null when not signed in. Throws where `callerLoader` has not run. */
export function sessionOf(res: Response): Session | null {
  const session: Session | null | undefined = res.locals.session;
  if (session === undefined) throw new Error('The route asks for a session that was never looked for');
  return session;
}

/**
 * Admits the callers that the route table allows. A team that the caller does not belong to is answered exactly like a
 * team that does not exist.
 */
export function admit(row: ClusterRoute): RequestHandler {
  const dryRun = dryRunOf(row);
  return (req, res, next) => {
    if (row.access === 'public') return next();
    const route = dryRun !== null && purposeOf(req) === 'dryRun' ? dryRun : row;
    const account = accountOf(res);
    const caller = account === null ? personIn(route, req, res) : admitted(account, route, req);
    if (caller !== null) {
      res.locals.team = caller.team.slug;
      res.locals.caller = { ...caller, ...requestContextOf(res) } satisfies Caller;
    }
    next();
  };
}

type Admitted = Omit<Caller, keyof RequestContext>;

/** @returns null on routes without a team */
function personIn(route: ClusterRoute, req: Request, res: Response): Admitted | null {
  const { access } = route;
  const session = sessionOf(res);
  if (session === null) throw unauthenticated(req);
  if (access === 'public' || access === 'session') return null;
  const membership = session.memberships.find(isNamedBy(req.params));
  if (membership === undefined) throw notFound();
  if (!roleCovers(membership.role, access)) throw new Problem('permission_denied', roleNeeded[access]);
  refuseChangeOfSuspended(membership, route, req);
  const { teamId, slug, role } = membership;
  return { userId: session.userId, account: null, team: { id: teamId, slug }, role };
}

function unauthenticated(req: Request): Problem {
  const detail = sendsBearer(req)
    ? sendsSession(req)
      ? 'Send either a session cookie or a bearer token, not both.'
      : 'The token is not valid, has expired or is revoked. Use another one.'
    : 'There is no session, or it has expired. Sign in and try again.';
  return new Problem('authentication_required', detail);
}

function admitted(account: CallingAccount, route: ClusterRoute, req: Request): Admitted {
  const { team, role } = account;
  if (route.access !== 'session' && !isNamedBy(req.params)({ slug: team.slug, teamNumber: team.number })) {
    throw notFound();
  }
  const parameter = clusterParameterOf(route);
  const cluster = parameter === null ? null : (req.params[parameter] as string);
  const refusal = refusalOfAccount(account, route, cluster);
  if (refusal !== null) throw new Problem('permission_denied', accountRefusals[refusal]);
  refuseChangeOfSuspended(team, route, req);
  return { userId: null, account, team: { id: team.id, slug: team.slug }, role };
}

/** A suspended team reads, plans what it would change, and takes access away: a token that leaked must not wait for operators. */
function refuseChangeOfSuspended(team: { readonly isSuspended: boolean }, route: ClusterRoute, req: Request): void {
  if (!team.isSuspended || route.endsAccess || !isRefusedWhileHeld(route) || purposeOf(req) === 'dryRun') return;
  throw teamSuspended();
}

const accountRefusals: Readonly<Record<AccountRefusal, string>> = {
  people: 'Only people can do this. Sign in instead of using a service account.',
  role: 'The role of the service account does not allow the request. Ask an administrator of the team.',
  action: 'The service account is narrowed to other kinds of actions. Ask an administrator of the team.',
  cluster: 'The service account is narrowed to other clusters. Ask an administrator of the team.',
};

const roleNeeded: Readonly<Record<Role, string>> = {
  admin: 'Only administrators of the team can do this. Ask one of them.',
  member: 'Viewers of the team can only read. Ask an administrator for the role member.',
  viewer: 'Only people of the team can do this.',
};

/** Paths name a team by its slug, or by its number in canonical form. */
function isNamedBy({
  team,
  team_slug,
  team_id,
}: Request['params']): (team: { readonly slug: string; readonly teamNumber: number }) => boolean {
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

/** The caller of a route for people only. @throws Error on routes that are open to service accounts */
export function personCallerOf(res: Response): PersonCaller {
  const caller = callerOf(res);
  const { userId, account } = caller;
  if (userId === null || account !== null) throw new Error('The route is open to service accounts');
  return { ...caller, userId, account };
}

const harmless = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes that a page of another origin requests with the cookie of its visitor. Browsers state the origin of a
 * request. Other clients, such as curl, send cookies only on purpose. Browsers never add a bearer token by themselves.
 */
export function refuseCrossSite(publicUrl: () => string): RequestHandler {
  return (req, _res, next) => {
    if (harmless.has(req.method) || (sendsBearer(req) && !sendsSession(req))) return next();
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

/** The sender of a request before it is looked up: the cookie or the token, and the team in the path. */
export function presumedOwnerOf(req: Request): string | null {
  const credential = credentialHashOf(req);
  return credential === null ? null : `${credential} ${teamIn(req) ?? ''}`;
}

/**
 * The owner of a request once its caller is looked up: the team in the path for its members; without one the user, or the team of the
 * account. Null for a team of others: a caller could have any number of names remembered.
 */
export function requestOwnerOf(req: Request, res: Response): string | null {
  const named = teamIn(req);
  const isNamed = (slug: string, number: number) => slug === named || String(number) === named;
  const account = accountOf(res);
  if (account !== null) {
    const { id, slug, number } = account.team;
    return named === null || isNamed(slug, number) ? `team ${id}` : null;
  }
  const session = sessionOf(res);
  if (session === null) return null;
  if (named === null) return `user ${session.userId}`;
  const membership = session.memberships.find(({ slug, teamNumber }) => isNamed(slug, teamNumber));
  return membership === undefined ? null : `team ${membership.teamId}`;
}

/** What may be the slug or number of a team at the start of a path. Bounded, because it is remembered. */
const teamIn = ({ path }: Request): string | null =>
  /^\/(?:api\/v1\/teams|a|teams\/api\/teams)\/([a-z0-9-]{1,63})(?:\/|$)/.exec(path)?.[1] ?? null;

const HELD_RETRY_SECONDS = 60;

/** Whether a route changes what teams own. During a hold people can sign in and out, and read record sets in the console. */
export const isRefusedWhileHeld = ({ method, path }: ClusterRoute): boolean =>
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
      { retryAfterSeconds: HELD_RETRY_SECONDS },
    );
  };
