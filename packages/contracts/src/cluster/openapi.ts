import { clusterAnswerSchemas, problemSchema } from './answers.js';
import { type ProblemCode, problemCodes } from './problem-codes.js';
import { type ClusterQueryParameter, type ClusterRoute, clusterRoutes, problemsOf } from './routes.js';

const body = (schema: object, mediaType: string) => ({ content: { [mediaType]: { schema } } });
const jsonBody = (schema: object) => body(schema, 'application/json');
const answerRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The OpenAPI 3.1 document of the cluster-management API, made of the route table and the schemas that validate it. */
export function clusterOpenApi(serverUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of clusterRoutes) paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Cluster-management API',
      version: '1',
      description:
        'Kubernetes clusters by declared intent. A change is answered 202 with an operation to poll; an unchanged ' +
        'specification is answered 200 and changes nothing.',
    },
    servers: [{ url: serverUrl }],
    security: [{ session: [] }],
    paths,
    components: {
      securitySchemes: { session: { type: 'apiKey', in: 'cookie', name: 'sessionid' } },
      schemas: { ...clusterAnswerSchemas, problem: problemSchema },
    },
  };
}

function operationOf(route: ClusterRoute): object {
  const requestBody = route.body && { requestBody: { required: route.bodyOptional !== true, ...jsonBody(route.body) } };
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.access === 'public' ? { security: [] } : {}),
    parameters: [...pathParameters(route.path), ...(route.query ?? []).map(queryParameter), ...headersOf(route)],
    ...requestBody,
    responses: { ...successes(route), ...refusals(problemsOf(route)) },
  };
}

const pathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

function queryParameter({ name, description, type, values }: ClusterQueryParameter): object {
  const schema = type === 'time' ? { type: 'string', format: 'date-time' } : { type };
  return {
    name,
    in: 'query',
    description,
    required: false,
    schema: { ...schema, ...(values ? { enum: values } : {}) },
  };
}

function headersOf(route: ClusterRoute): object[] {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    description,
    required: false,
    schema: { type: 'string' },
  });
  return [
    ...(route.conditional ? [header('If-Match', 'Entity tag that the resource must still have.')] : []),
    ...(route.operationId === 'putCluster' ? [header('If-None-Match', '`*`: only create, never change.')] : []),
    ...(route.operationId === 'getCluster' ? [header('If-None-Match', 'Entity tag of the copy at hand.')] : []),
    ...(route.idempotent ? [header('Idempotency-Key', 'The same key and request again has the same outcome.')] : []),
  ];
}

const redirects: Readonly<Record<string, string>> = { 302: 'Go there', 303: 'Done, go there' };

function successes(route: ClusterRoute): Record<string, object> {
  // A dry run answers 200 in a shape of its own.
  const dryRun = { putCluster: 'clusterDryRun', putNodePool: 'nodePoolDryRun' }[route.operationId];
  const schemaOf = (status: string, answer: string) =>
    status === '200' && dryRun !== undefined ? { anyOf: [answerRef(answer), answerRef(dryRun)] } : answerRef(answer);
  const mediaType = route.lines ? 'application/x-ndjson' : 'application/json';
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, answer]) => [
      status,
      {
        description: redirects[status] ?? (route.lines ? 'One such document per line' : 'Done'),
        ...(status in redirects ? { headers: { Location: { schema: { type: 'string' } } } } : {}),
        ...(answer === null ? {} : body(schemaOf(status, answer), mediaType)),
      },
    ]),
  );
}

function refusals(codes: readonly ProblemCode[]): Record<string, object> {
  const byStatus = new Map<number, string[]>();
  for (const code of codes) {
    const { status, meaning } = problemCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${meaning}`]);
  }
  const content = { 'application/problem+json': { schema: answerRef('problem') } };
  return Object.fromEntries(
    [...byStatus].map(([status, lines]) => [status, { description: lines.join('\n\n'), content }]),
  );
}
