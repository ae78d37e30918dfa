import { userStore } from '@corral/auth';
import { type ClusterOperationId, parseAuthorizationPost } from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { RequestHandler } from 'express';
import { sessionOf, signedInOf } from '../http/caller.js';
import { formOf } from '../http/form.js';
import { sendFormPage } from '../http/form-page.js';
import { notFound, Problem } from '../problem.js';
import type { Services } from '../services.js';
import {
  type AuthorizationRequest,
  confirmationPage,
  devSignInPage,
  nameOfProgram,
  parseAuthorizationRequest,
  pathOfAuthorization,
} from './authorization.js';
import { openFromBrowser, sealForBrowser } from './cookies.js';

/** Enough to choose from; others sign in with their address. */
export const DEV_PEOPLE_MAX = 20;

/** What a page showed to a session. */
type Shown = AuthorizationRequest & { readonly startedAt: number };

/** Sign-in of the command line: a person decides in the browser, and the program gets a code at its loopback address. */
export function authorizationRoutes({ config, prisma, codes, secrets, oidc, now }: Services) {
  const { devSignIn } = config;
  /** A page of one session is of no use in another one. */
  const ownerOf = (sessionId: string) => `authorization ${sessionId}`;

  return {
    async showAuthorization(req, res) {
      const request = parseAuthorizationRequest(queryOf(req));
      const session = sessionOf(res);
      if (session !== null) {
        const sealed = sealForBrowser(secrets, ownerOf(session.id), { ...request, startedAt: now() } satisfies Shown);
        const { email } = session;
        sendFormPage(res, confirmationPage({ ...request, email, sealed, program: nameOfProgram(request) }));
        return;
      }
      const returnTo = pathOfAuthorization(request);
      const login = `/auth/login/?${new URLSearchParams({ return_to: returnTo })}`;
      if (devSignIn) {
        const emails = (await userStore(prisma).listPeople(DEV_PEOPLE_MAX)).map(({ email }) => email);
        sendFormPage(res, devSignInPage({ emails, returnTo, otherWay: oidc === null ? null : login }));
        return;
      }
      if (oidc === null) throw notFound();
      res.status(302).location(login).end();
    },

    async authorize(req, res) {
      const { request: sealed, decision } = parseAuthorizationPost(formOf(req));
      const { id } = signedInOf(res);
      const request = openFromBrowser<Shown>(secrets, ownerOf(id), sealed, now());
      if (request === null) throw new Problem('sign_in_expired', 'The page is too old. Start the program again.');
      const answer = decision === 'allow' ? { code: await codeFor(id, request) } : { error: 'access_denied' };
      const query = new URLSearchParams({ ...answer, state: request.state });
      res.status(303).location(`${request.redirectUri}?${query}`).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;

  async function codeFor(sessionId: string, request: AuthorizationRequest): Promise<string> {
    const { codeChallenge, redirectUri } = request;
    const code = await codes.issue(sessionId, { codeChallenge, redirectUri, name: nameOfProgram(request) });
    if (code === null) throw new Problem('authentication_required', 'The session has ended. Sign in and try again.');
    return code;
  }
}
