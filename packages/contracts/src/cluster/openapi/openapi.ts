import {
  answerHeaders,
  bodyNotTaken,
  byStatus,
  type Examples,
  headersOf,
  mayBeAdded,
  pathParametersOf,
  refTo,
} from '../../openapi-parts.js';
import { type DocumentSchemas, documentSchemas } from '../../openapi-schemas.js';
import { isForPeople } from '../accounts/account-access.js';
import type { ClusterAnswer } from '../answers.js';
import { problemExamples } from '../examples/problem-examples.js';
import { clusterRequestExamples } from '../examples/request-examples.js';
import { clusterAnswerExamples } from '../examples/team-answer-examples.js';
import { clusterLimits } from '../limits.js';
import { type ProblemCode, problemCodes } from '../problem-codes.js';
import {
  type ClusterQueryParameter,
  type ClusterRoute,
  clusterRoutes,
  dryRunAnswers,
  problemsOf,
  type RouteAccess,
} from '../routes.js';
import { streamEndReasons, teamEventChanges, teamEventKinds, teamEventName } from '../team-event.js';
import { successHeaders, successHeadersOf } from './answer-headers.js';
import { answerNameOf, clusterNamedSchemas } from './named-schemas.js';
import { type ParameterNote, pathParameterOf, queryNotes, queryTypes, requestHeaders } from './parameters.js';
import { clusterTags, tagOf } from './tags.js';

/** Problems of requests that cannot be parsed and therefore reach no operation. */
export const problemsBeforeRouting = ['invalid_http', 'request_timeout', 'headers_too_large'] as const;

const description = [
  'Declarative management of Kubernetes clusters. A change is answered 202 with an operation to poll; an unchanged ' +
    'specification is answered 200 and changes nothing. Look at the operation after the seconds in `Retry-After`, or send ' +
    '`Prefer: wait=30`: then the answer comes when the operation has ended.',
  `Changes of a team are processed one at a time. When ${clusterLimits.changesWaitingPerTeam} of them wait, or one has waited for ` +
    `${clusterLimits.changeWaitSeconds} s, the answer is 429, or 503 if changes of other teams block it. Nothing was ` +
    'changed then: repeat the request after the time in `Retry-After`.',
  'A member that a `PUT` leaves out stays as it is, or gets the initial value that its description names if the resource is new. ' +
    'Only a member with a `default` is different: the default replaces what is there. Of a cluster these are `minimum`, `maximum` ' +
    'and `publicIP` of each node pool that is listed or sent. Dry runs and the audit log mark such a change with `byDefault`, and the ' +
    'answer lists it in `resetToDefault`.',
  'Paths end in a slash. A GET without it is redirected (308) to the path with it; other methods are served either ' +
    'way. Every GET route also supports HEAD.',
  `${bodyNotTaken} It is answered 422 with \`validation_failed\`.`,
  'Every error is a problem document (RFC 9457) whose `type` links to a page that explains its `code`. In addition to those of ' +
    `each operation: ${problemsBeforeRouting.map((code) => `\`${code}\` (${problemCodes[code].status})`).join(', ')}, ` +
    'for requests that cannot be parsed.',
  mayBeAdded,
].join('\n\n');

/** Renders the OpenAPI 3.1 document of the cluster-management API from the route table and the validation schemas. */
export function clusterOpenApi(serverUrl: string): object {
  const schemas = documentSchemas(clusterNamedSchemas);
  const paths: Record<string, Record<string, object>> = {};
  for (const route of clusterRoutes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route, schemas) };
  }
  const used = new Set((clusterRoutes as readonly ClusterRoute[]).map(({ path }) => tagOf(path)));
  return {
    openapi: '3.1.0',
    info: { title: 'Cluster-management API', version: '1', description },
    servers: [{ url: serverUrl, description: 'This installation' }],
    tags: clusterTags.filter(({ name }) => used.has(name)),
    security: [{ session: [] }, { account: [] }],
    paths,
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'sessionid', description: 'Set by signing in.' },
        account: {
          type: 'http',
          scheme: 'bearer',
          description: 'Token of a service account. Never together with a session.',
        },
      },
      schemas: schemas.components,
      headers: { ...answerHeaders, ...successHeaders },
      examples: problemExamples,
    },
  };
}

const accessDescriptions: Readonly<Record<RouteAccess, string>> = {
  public: 'No authentication required.',
  session: 'Requires a session.',
  viewer: 'For everybody in the team. Other callers get 404.',
  member: 'For members and administrators of the team. Callers who are not in the team get 404.',
  admin: 'For administrators of the team. Callers who are not in the team get 404.',
};

function operationOf(route: ClusterRoute, { request }: DocumentSchemas): object {
  return {
    operationId: route.operationId,
    tags: [tagOf(route.path)],
    summary: route.summary,
    description: accessDescriptions[route.access] + (route.people === true ? ' Not for service accounts.' : ''),
    ...(route.access === 'public' ? { security: [] } : isForPeople(route) ? { security: [{ session: [] }] } : {}),
    parameters: [
      ...pathParametersOf(route.path).map((name) => ({
        name,
        in: 'path',
        required: true,
        ...pathParameterOf(route.path, name),
      })),
      ...(route.query ?? []).map((parameter) => queryParameter(parameter, request)),
      ...headerParametersOf(route),
    ],
    ...requestBodyOf(route, request),
    responses: { ...successes(route), ...refusals(problemsOf(route)) },
  };
}

function requestBodyOf(route: ClusterRoute, render: (body: object) => object): object {
  const { operationId, body, bodyOptional, form } = route;
  if (body === undefined) return {};
  const examples = withExamples(clusterRequestExamples[operationId]);
  const content = {
    ...(form === 'only' ? {} : { 'application/json': { schema: render(body), ...examples } }),
    ...(form === undefined ? {} : { 'application/x-www-form-urlencoded': { schema: render(body), ...examples } }),
  };
  return { requestBody: { required: bodyOptional !== true, content } };
}

const withExamples = (examples: Examples | undefined): object => (examples === undefined ? {} : { examples });

function queryParameter(parameter: ClusterQueryParameter, render: (schema: object) => object): object {
  const { name, description: about, type, values, isRepeatable, isRequired = false } = parameter;
  const { schema: narrower = {}, ...note } = queryNotes[name] ?? {};
  const one = values ? render({ enum: values }) : { ...queryTypes[type], ...narrower };
  const schema = isRepeatable
    ? { type: 'array', items: one, uniqueItems: true, minItems: 1, ...(values ? { maxItems: values.length } : {}) }
    : one;
  return { name, in: 'query', required: isRequired, description: about, schema, ...note };
}

const createsByPut = ['putCluster', 'putNodePool', 'putConnection'];

function headerParametersOf(route: ClusterRoute): object[] {
  const header = (name: string, note: ParameterNote) => ({ name, in: 'header', required: false, ...note });
  const tags = (about: string, example: string) =>
    header('If-None-Match', { description: about, schema: { type: 'string', maxLength: 1_000 }, example });
  return [
    ...(route.conditional ? [header('If-Match', requestHeaders['If-Match'])] : []),
    ...(createsByPut.includes(route.operationId)
      ? [tags('`*`: create only; do not change an existing resource.', '*')]
      : []),
    ...(304 in route.answers ? [tags('Entity tag of the client’s copy.', requestHeaders['If-Match'].example)] : []),
    ...(isEventStream(route) ? [header('Last-Event-ID', requestHeaders['Last-Event-ID'])] : []),
    ...(route.operationId === 'getOperation' ? [header('Prefer', requestHeaders.Prefer)] : []),
    ...(route.operationId === 'takeBillingEvent'
      ? [{ ...header('Corral-Signature', requestHeaders['Corral-Signature']), required: true }]
      : []),
    ...(route.idempotent ? [header('Idempotency-Key', requestHeaders['Idempotency-Key'])] : []),
  ];
}

function successes(route: ClusterRoute): Record<string, object> {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, answer]) => [
      status,
      {
        description: descriptionOf(route, Number(status)),
        headers: headersOf(Number(status), successHeadersOf(route, Number(status))),
        ...(route.page && status === '200' ? { content: pageContent } : {}),
        ...(answer === null ? {} : { content: contentOf(route, status, answer) }),
      },
    ]),
  );
}

const pageContent = {
  'text/html': {
    schema: { type: 'string' },
    examples: { example: { summary: 'A page with a form', value: '<!doctype html>…' } },
  },
};

function contentOf(route: ClusterRoute, status: string, answer: ClusterAnswer): object {
  const dryRun = status === '200' ? dryRunAnswers[route.operationId] : undefined;
  const names = dryRun === undefined || dryRun === answer ? [answer] : [answer, dryRun];
  const refs = names.map((name) => refTo('schemas', answerNameOf(name)));
  const examples = Object.assign({}, ...names.map((name) => clusterAnswerExamples[name])) as Examples;
  return { [mediaTypeOf(route)]: { schema: refs.length === 1 ? refs[0] : { anyOf: refs }, examples } };
}

const isEventStream = ({ events }: ClusterRoute): boolean => events === true;

function mediaTypeOf(route: ClusterRoute): string {
  if (isEventStream(route)) return 'text/event-stream';
  return route.lines ? 'application/x-ndjson' : 'application/json';
}

const meanings: Readonly<Record<number, string>> = {
  200: 'Done, or nothing to change',
  201: 'Created',
  202: 'Accepted; an operation carries out the change',
  204: 'Done, no content',
  302: 'Redirect',
  303: 'Done, redirect',
  304: 'The client’s copy is current',
};

function descriptionOf(route: ClusterRoute, status: number): string {
  if (isEventStream(route)) return eventsDescription;
  return route.lines ? 'One document per line' : (meanings[status] ?? 'Done');
}

const eventsDescription = [
  'A continuous stream. The data of each event is such a document; its name is one of ' +
    `${teamEventKinds.flatMap((kind) => teamEventChanges.map((change) => `\`${teamEventName(kind, change)}\``)).join(', ')}.`,
  'Control events: `ready` starts a stream without `Last-Event-ID`; `reset` says that events are missing: reload ' +
    'everything; `end` says why the stream ends:',
  ...Object.entries(streamEndReasons).map(([reason, meaning]) => `\`${reason}\`: ${meaning}`),
].join('\n\n');

function refusals(codes: readonly ProblemCode[]): Record<string, object> {
  const groups = byStatus(codes, (code) => problemCodes[code].status);
  return Object.fromEntries(groups.map(([status, ofStatus]) => [status, refusalOf(status, ofStatus)]));
}

function refusalOf(status: number, codes: readonly ProblemCode[]): object {
  const examples = Object.fromEntries(codes.map((code) => [code, refTo('examples', code)]));
  return {
    description: codes.map((code) => `\`${code}\`: ${problemCodes[code].meaning}`).join('\n\n'),
    headers: headersOf(status),
    content: { 'application/problem+json': { schema: refTo('schemas', 'Problem'), examples } },
  };
}
