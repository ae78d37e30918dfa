import { dnsAnswerSchemas } from './answers.js';
import { dnsErrorCodes } from './error-codes.js';
import type { DnsQueryParameter, DnsRoute } from './routes.js';

const jsonBody = (schema: object) => ({ content: { 'application/json': { schema } } });

/** The OpenAPI 3.1 document of the DNS record API, made of the rows that are served and the schemas that validate it. */
export function dnsOpenApi(serverUrl: string, routes: readonly DnsRoute[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'DNS record API',
      version: '1',
      description:
        'Record sets of one shared zone, in the wire format of the Hetzner Cloud DNS API. A team writes only at its ' +
        'own name and below. Errors of the upstream provider pass through with their own status and code.',
    },
    servers: [{ url: serverUrl }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A DNS token of 64 characters.' } },
      schemas: { Error: dnsAnswerSchemas.error },
    },
  };
}

function operationOf(route: DnsRoute): object {
  return {
    operationId: route.operationId,
    summary: route.summary,
    // An empty requirement beside the other one: a token, or none.
    ...(route.tokenless === undefined ? {} : { security: [{ token: [] }, {}] }),
    parameters: [
      ...[...route.path.matchAll(/\{(\w+)\}/g)].map((match) => ({
        name: match[1],
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...(route.query ?? []).map(queryParameter),
    ],
    ...(route.body === undefined ? {} : { requestBody: { required: true, ...jsonBody(route.body) } }),
    responses: {
      [route.status]: {
        description: 'Done',
        ...(route.answer === null ? {} : jsonBody(dnsAnswerSchemas[route.answer])),
      },
      ...errors(),
    },
  };
}

function queryParameter(parameter: DnsQueryParameter): object {
  const schema = { type: parameter.type };
  return {
    name: parameter.name,
    in: 'query',
    description: parameter.description,
    required: parameter.required ?? false,
    schema: parameter.repeatable ? { type: 'array', items: schema } : schema,
    ...(parameter.repeatable ? { style: 'form', explode: true } : {}),
  };
}

function errors(): Record<string, object> {
  const byStatus = new Map<number, string[]>();
  for (const [code, { status, meaning }] of Object.entries(dnsErrorCodes)) {
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${meaning}`]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, lines]) => [
      status,
      { description: lines.join('\n\n'), ...jsonBody({ $ref: '#/components/schemas/Error' }) },
    ]),
  );
}
