import { devSignInSchema } from '../clusters/requests.js';
import { type ClusterRoute, paging } from '../route.js';

const sessions = '/api/v1/me/sessions/';

/** Routes to sign in and out, and to manage the caller's sessions. */
export const signInRoutes = [
  {
    operationId: 'listSessions',
    method: 'get',
    path: sessions,
    summary: 'List the caller’s active sessions, newest first',
    access: 'session',
    answers: { 200: 'sessionList' },
    problems: [],
    query: paging,
  },
  {
    operationId: 'revokeSession',
    method: 'delete',
    path: `${sessions}{id}/`,
    summary: 'End one of the caller’s sessions, effective from its next request',
    access: 'session',
    answers: { 204: null },
    problems: ['not_found'],
    privatePath: true,
  },
  {
    operationId: 'startSignIn',
    method: 'get',
    path: '/auth/login/',
    summary: 'Redirect to the identity provider to sign in',
    access: 'public',
    answers: { 302: null },
    problems: ['not_found', 'upstream_unavailable'],
    query: [
      {
        name: 'return_to',
        type: 'string',
        description: 'Path of this service, with query, to open after the sign-in. Default `/api/v1/me/`.',
      },
    ],
  },
  {
    operationId: 'finishSignIn',
    method: 'get',
    path: '/auth/callback/',
    summary: 'Callback for the identity provider; not for other use',
    access: 'public',
    answers: { 303: null },
    problems: [
      'not_found',
      'sign_in_expired',
      'sign_in_cancelled',
      'sign_in_refused',
      'email_not_verified',
      'another_identity',
      'upstream_unavailable',
    ],
    anyQuery: true,
  },
  {
    operationId: 'signOut',
    method: 'post',
    path: '/auth/logout/',
    summary: 'End the session',
    access: 'public',
    answers: { 204: null },
    problems: [],
  },
  {
    operationId: 'signOutEverywhere',
    method: 'post',
    path: '/auth/logout/everywhere/',
    summary: 'End all sessions of the caller, including this one',
    access: 'session',
    answers: { 204: null },
    problems: [],
  },
  {
    operationId: 'listDevPeople',
    method: 'get',
    path: '/auth/dev-login/',
    summary: 'List the first people by address, to sign in as one of them; in development only',
    access: 'public',
    answers: { 200: 'devPeople' },
    problems: ['not_found'],
  },
  {
    operationId: 'devSignIn',
    method: 'post',
    path: '/auth/dev-login/',
    summary: 'Sign in with only an e-mail address; in development only',
    access: 'public',
    answers: { 200: 'me' },
    problems: ['permission_denied', 'not_found'],
    body: devSignInSchema,
  },
] as const satisfies readonly ClusterRoute[];
