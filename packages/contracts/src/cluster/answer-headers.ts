import type { DocumentHeader } from '../openapi/document.js';
import type { ClusterRoute } from './route.js';

/** Headers of successful answers, by name. Headers of errors depend on the status. */
export const answerHeaders = {
  ETag: {
    description:
      'Entity tag of the resource, for `If-Match` and `If-None-Match`; for a node pool, that of its cluster. Absent on dry runs.',
    schema: { type: 'string', pattern: '^"[^"]+"$' },
  },
  'Operation-Location': {
    description:
      'URL at which to poll the operation of this change, or the operation already in progress for this specification.',
    schema: { type: 'string', format: 'uri' },
  },
  Location: {
    description: 'URL of what was created; with 302 and 303, where to go.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'Preference-Applied': {
    description: 'The preference that was honoured: `wait=` and the seconds. Absent if the answer did not wait.',
    schema: { type: 'string', pattern: '^wait=\\d+$' },
  },
  'Set-Cookie': { description: 'Sets or clears the session cookie `sessionid`.', schema: { type: 'string' } },
  'Content-Disposition': { description: 'Suggested file name.', schema: { type: 'string' } },
  'Cache-Control': { description: '`no-store`: the answer must not be cached.', schema: { type: 'string' } },
} as const satisfies Record<string, DocumentHeader>;
type AnswerHeader = keyof typeof answerHeaders | 'Retry-After';

const tagged = ['cluster', 'accepted', 'nodePool', 'connection', 'connectionAccepted', 'team', 'teamMember'];
/** Operations that report an operation with every success. */
const reportsOperation = [
  'verifyConnection',
  'putNodePool',
  'deleteNodePool',
  'putCluster',
  'hibernateCluster',
  'resumeCluster',
  'retryCluster',
];
/** Operations that create something with an address, by the status with which they do. */
const creations: Readonly<Record<string, number>> = {
  putCluster: 202,
  putNodePool: 201,
  createConnection: 201,
  putConnection: 201,
  adoptServer: 202,
  createDnsToken: 201,
  putServiceAccount: 201,
  putTrustedIssuer: 201,
  putWebhook: 201,
};
const beginsOrEndsSessions = ['finishSignIn', 'signOut', 'signOutEverywhere', 'devSignIn'];

/** The headers of a successful answer in addition to the common ones. */
export function answerHeadersOf(route: ClusterRoute, status: number): AnswerHeader[] {
  const { operationId, answers } = route;
  const answer = answers[status];
  const isTagged = tagged.includes(answer ?? '') || status === 304 || operationId === 'deleteNodePool';
  return [
    ...(isTagged ? (['ETag'] as const) : []),
    ...(status === 202 || reportsOperation.includes(operationId) ? (['Operation-Location'] as const) : []),
    ...(status === 202 || operationId === 'getOperation' ? (['Retry-After'] as const) : []),
    ...(operationId === 'getOperation' ? (['Preference-Applied'] as const) : []),
    ...(status === 302 || status === 303 || creations[operationId] === status ? (['Location'] as const) : []),
    ...(beginsOrEndsSessions.includes(operationId) ? (['Set-Cookie'] as const) : []),
    ...(route.lines ? (['Content-Disposition'] as const) : []),
    ...(answer === 'kubeconfig' || answer === 'joinCommand' ? (['Cache-Control'] as const) : []),
  ];
}
