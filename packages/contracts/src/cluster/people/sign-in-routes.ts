import { devSignInSchema } from '../clusters/requests.js';
import { type ClusterRoute, paging, route } from '../route.js';
import { authorizationParameters, authorizationPostSchema } from './authorization.js';
import { deviceDecisionSchema, devicePostSchema } from './device-sign-in.js';
import { notificationsPutSchema } from './notifications.js';
import { tokenPostSchema } from './token-request.js';

const sessions = '/api/v1/me/sessions/';

/** Routes to sign in and out, and to manage the caller's sessions. */
export const signInRoutes = [
  {
    ...route('getNotifications', 'get', '/api/v1/me/notifications/', 'session'),
    summary: 'Show what the caller gets mails about',
    answers: { 200: 'notifications' },
  },
  {
    ...route('putNotifications', 'put', '/api/v1/me/notifications/', 'session'),
    summary: 'Choose what the caller gets mails about',
    answers: { 200: 'notifications' },
    body: notificationsPutSchema,
  },
  {
    ...route('listSessions', 'get', sessions, 'session'),
    summary: 'List the caller’s active sessions, newest first',
    answers: { 200: 'sessionList' },
    query: paging,
  },
  {
    ...route('revokeSession', 'delete', `${sessions}{id}/`, 'session'),
    summary: 'End one of the caller’s sessions, effective from its next request',
    answers: { 204: null },
    problems: ['not_found'],
    privatePath: true,
  },
  {
    ...route('startSignIn', 'get', '/auth/login/', 'public'),
    summary: 'Redirect to the identity provider to sign in',
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
    ...route('finishSignIn', 'get', '/auth/callback/', 'public'),
    summary: 'Callback for the identity provider; not for other use',
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
    ...route('showAuthorization', 'get', '/auth/authorize/', 'public'),
    summary: 'Page on which a person lets the command line sign in as them; they sign in first if necessary',
    page: true,
    answers: { 200: null, 302: null },
    problems: ['not_found'],
    query: authorizationParameters,
  },
  {
    ...route('authorize', 'post', '/auth/authorize/', 'session'),
    summary: 'Take the decision of that page and redirect to the command line; not for other use',
    form: 'only',
    answers: { 303: null },
    problems: ['sign_in_expired'],
    body: authorizationPostSchema,
  },
  {
    ...route('exchangeToken', 'post', '/auth/token/', 'public'),
    summary: 'Exchange a token of a trusted issuer (RFC 8693), or a code of the command line (RFC 6749, RFC 8628)',
    form: 'only',
    answers: { 200: 'issuedToken' },
    problems: ['invalid_token_request', 'invalid_grant', 'authorization_pending'],
    body: tokenPostSchema,
  },
  {
    ...route('startDeviceSignIn', 'post', '/auth/device/', 'public'),
    summary: 'Begin to sign in a machine without a browser (RFC 8628)',
    form: 'only',
    answers: { 200: 'deviceAuthorization' },
    problems: ['invalid_token_request', 'not_found'],
    body: devicePostSchema,
  },
  {
    ...route('getDeviceSignIn', 'get', '/auth/device-sign-ins/{user_code}/', 'session'),
    summary: 'Show which machine asks to sign in with a code, until somebody has decided',
    answers: { 200: 'deviceSignIn' },
    problems: ['not_found'],
    privatePath: true,
  },
  {
    ...route('decideDeviceSignIn', 'post', '/auth/device-sign-ins/{user_code}/', 'session'),
    summary: 'Let a machine sign in as the caller, or refuse it',
    answers: { 204: null },
    problems: ['not_found'],
    body: deviceDecisionSchema,
    privatePath: true,
  },
  { ...route('signOut', 'post', '/auth/logout/', 'public'), summary: 'End the session', answers: { 204: null } },
  {
    ...route('signOutEverywhere', 'post', '/auth/logout/everywhere/', 'session'),
    summary: 'End all sessions of the caller, including this one',
    answers: { 204: null },
  },
  {
    ...route('listDevPeople', 'get', '/auth/dev-login/', 'public'),
    summary: 'List the first people by address, to sign in as one of them; in development only',
    answers: { 200: 'devPeople' },
    problems: ['not_found'],
    development: true,
  },
  {
    ...route('devSignIn', 'post', '/auth/dev-login/', 'public'),
    summary: 'Sign in with only an e-mail address; in development only',
    form: 'also',
    answers: { 200: 'me', 303: null },
    problems: ['permission_denied', 'not_found'],
    body: devSignInSchema,
    development: true,
  },
] as const satisfies readonly ClusterRoute[];
