import {
  bodyNotTaken,
  type DocumentOperation,
  type DocumentParameter,
  type DocumentSuccess,
  mayBeAdded,
  openApiDocument,
  pathParametersOf,
  refTo,
} from '../openapi/document.js';
import { documentSchemas } from '../openapi/schemas.js';
import { accountActionOf, clusterParameterOf, isForPeople } from './accounts/account-access.js';
import { answerHeaders, answerHeadersOf } from './answer-headers.js';
import type { ClusterAnswer } from './answers.js';
import { clusterRequestExamples } from './examples.js';
import { clusterLimits } from './limits.js';
import { answerNameOf, clusterNamedSchemas } from './named-schemas.js';
import { headerParametersOf, pathParameterOf, queryNotes, queryTypes } from './parameters.js';
import { type ProblemCode, problemCodes } from './problem-codes.js';
import {
  type ClusterQueryParameter,
  type ClusterRoute,
  clusterRoutes,
  dryRunAnswers,
  problemsOf,
  type RouteAccess,
} from './routes.js';
import { clusterTags, tagOf } from './tags.js';
import { streamEndReasons, teamEventChanges, teamEventKinds, teamEventName } from './team-event.js';

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

const securitySchemes = {
  session: { type: 'apiKey', in: 'cookie', name: 'sessionid', description: 'Set by signing in.' },
  account: {
    type: 'http',
    scheme: 'bearer',
    description: 'Token of a service account. Never together with a session.',
  },
};

type RenderSchema = (schema: object) => object;

/**
 * Renders the OpenAPI 3.1 document of the cluster-management API from the route table and the validation schemas, without
 * the routes of the development set-up.
 */
export function clusterOpenApi(serverUrl: string): object {
  const schemas = documentSchemas(clusterNamedSchemas);
  const routes = (clusterRoutes as readonly ClusterRoute[]).filter(({ development }) => development !== true);
  return openApiDocument({
    title: 'Cluster-management API',
    description,
    serverUrl,
    tags: clusterTags,
    security: [{ session: [] }, { account: [] }],
    securitySchemes,
    schemas,
    headers: answerHeaders,
    refusalBody: { mediaType: 'application/problem+json', schema: 'Problem' },
    operations: routes.map((route) => operationOf(route, schemas.request)),
  });
}

function operationOf(route: ClusterRoute, render: RenderSchema): DocumentOperation {
  const { operationId, method, path, summary } = route;
  return {
    operationId,
    method,
    path,
    tag: tagOf(path),
    summary,
    description: accessOf(route),
    ...(route.access === 'public' ? { security: [] } : isForPeople(route) ? { security: [{ session: [] }] } : {}),
    parameters: [
      ...pathParametersOf(path).map((name) => pathParameterOf(path, name)),
      ...(route.query ?? []).map((parameter) => queryParameter(parameter, render)),
      ...headerParametersOf(route),
    ],
    ...bodyOf(route, render),
    successes: Object.entries(route.answers).map(([status, answer]) => successOf(route, Number(status), answer)),
    refusals: inOrder(problemsOf(route)).map((code) => ({ code, ...problemCodes[code] })),
  };
}

const inOrder = (codes: readonly ProblemCode[]): ProblemCode[] =>
  (Object.keys(problemCodes) as ProblemCode[]).filter((code) => codes.includes(code));

const accessDescriptions: Readonly<Record<RouteAccess, string>> = {
  public: 'No authentication required.',
  session: 'Requires a session.',
  viewer: 'For everybody in the team. Other callers get 404.',
  member: 'For members and administrators of the team. Callers who are not in the team get 404.',
  admin: 'For administrators of the team. Callers who are not in the team get 404.',
};

function accessOf(route: ClusterRoute): string {
  const about = accessDescriptions[route.access];
  if (route.access === 'public' || route.access === 'session') return about;
  if (isForPeople(route)) return `${about} Not for service accounts.`;
  return `${about} A service account with a narrowing needs the action \`${accountActionOf(route)}\`${clustersNeeded(route)}.`;
}

function clustersNeeded(route: ClusterRoute): string {
  if (clusterParameterOf(route) !== null) return ' and the cluster in it';
  return route.ofClusters === undefined ? ' and all clusters in it' : '';
}

function bodyOf(route: ClusterRoute, render: RenderSchema): Pick<DocumentOperation, 'body'> {
  const { operationId, body, bodyOptional, form } = route;
  if (body === undefined) return {};
  const mediaTypes = [
    ...(form === 'only' ? [] : ['application/json']),
    ...(form === undefined ? [] : ['application/x-www-form-urlencoded']),
  ];
  const example = clusterRequestExamples[operationId];
  return { body: { schema: render(body), required: bodyOptional !== true, mediaTypes, example } };
}

function queryParameter(parameter: ClusterQueryParameter, render: RenderSchema): DocumentParameter {
  const { name, description, type, values, isRepeatable, isRequired = false } = parameter;
  const { schema: narrower = {}, ...note } = queryNotes[name] ?? {};
  const one = values ? render({ enum: values }) : { ...queryTypes[type], ...narrower };
  const schema = isRepeatable
    ? { type: 'array', items: one, uniqueItems: true, minItems: 1, ...(values ? { maxItems: values.length } : {}) }
    : one;
  return { name, in: 'query', required: isRequired, description, schema, ...note };
}

function successOf(route: ClusterRoute, status: number, answer: ClusterAnswer | null): DocumentSuccess {
  const { events, lines, page } = route;
  const [name, meaning] = meanings[status] ?? ['Done', 'Done'];
  const about = {
    status,
    name: answer === null ? name : answerNameOf(answer),
    description: events ? eventsDescription : lines ? 'One document per line' : meaning,
    headers: answerHeadersOf(route, status),
  };
  if (page && status === 200) return { ...about, content: { mediaType: 'text/html', schema: { type: 'string' } } };
  if (answer === null) return about;
  const mediaType = events ? 'text/event-stream' : lines ? 'application/x-ndjson' : 'application/json';
  return { ...about, content: { mediaType, schema: answerSchema(answer, status === 200 ? route.operationId : null) } };
}

/** @param operationId of an operation with this answer that may have dry runs, which are answered like it */
function answerSchema(answer: ClusterAnswer, operationId: string | null): object {
  const dryRun = operationId === null ? undefined : dryRunAnswers[operationId];
  const own = refTo('schemas', answerNameOf(answer));
  if (dryRun === undefined || dryRun === answer) return own;
  return { anyOf: [own, refTo('schemas', answerNameOf(dryRun))] };
}

/** What a status means, and the name of an answer with it that has no body. */
const meanings: Readonly<Record<number, readonly [name: string, meaning: string]>> = {
  200: ['Done', 'Done, or nothing to change'],
  201: ['Created', 'Created'],
  202: ['Accepted', 'Accepted; an operation carries out the change'],
  204: ['NoContent', 'Done, no content'],
  302: ['Redirect', 'Redirect'],
  303: ['DoneRedirect', 'Done, redirect'],
  304: ['NotModified', 'The client’s copy is current'],
};

const eventsDescription = [
  'A continuous stream. The data of each event is such a document; its name is one of ' +
    `${teamEventKinds.flatMap((kind) => teamEventChanges.map((change) => `\`${teamEventName(kind, change)}\``)).join(', ')}.`,
  'Control events: `ready` starts a stream without `Last-Event-ID`; `reset` says that events are missing: reload ' +
    'everything; `end` says why the stream ends:',
  ...Object.entries(streamEndReasons).map(([reason, meaning]) => `\`${reason}\`: ${meaning}`),
].join('\n\n');
