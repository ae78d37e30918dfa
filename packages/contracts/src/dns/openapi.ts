import {
  answerHeaders,
  bodyNotTaken,
  byStatus,
  headersOf,
  mayBeAdded,
  pathParametersOf,
  refTo,
} from '../openapi-parts.js';
import { type DocumentSchemas, documentSchemas } from '../openapi-schemas.js';
import { type DnsErrorCode, dnsErrorCodes, dnsErrorsBeforeRouting } from './error-codes.js';
import { dnsErrorExamples, dnsErrorsOf, dnsUpstreamErrorsOf } from './errors-of.js';
import { dnsAnswerExamples, dnsRequestExamples } from './examples.js';
import { dnsLimits } from './limits.js';
import { dnsAnswerNameOf, dnsNamedSchemas } from './named-schemas.js';
import { dnsPathParameters, dnsQueryNotes, repetitionsMax } from './parameters.js';
import type { DnsQueryParameter, DnsRoute } from './routes.js';

const tags = [
  { name: 'Zones', description: 'The zone that all teams share.' },
  {
    name: 'Record sets',
    description: 'The team’s DNS records. A write returns an action; poll it until it is finished.',
  },
  { name: 'Actions', description: 'Progress of writes.' },
  { name: 'Token', description: 'The token of the request.' },
  { name: 'Demos', description: 'Short-lived names in a separate zone.' },
] as const;

const description = [
  'Record sets of one shared zone, in the wire format of the Hetzner Cloud DNS API. A team can write only its own name ' +
    'and the names below it. Errors of the upstream provider pass through with their own status and code.',
  `A write that exceeds the rate limit of its token or team waits up to ${dnsLimits.writeWaitMs / 1_000} s for its turn; ` +
    `a read of one record set waits up to ${dnsLimits.readWaitMs / 1_000} s. After that the answer is 429. Other reads that ` +
    'exceed the limit are answered 429 immediately. Reads of actions have a limit of their own. While all requested ' +
    `actions run, the answer comes when the first of them has finished, or after ${dnsLimits.actionHoldMs / 1_000} s.`,
  `A request that cannot be read gets ${dnsErrorCodes.invalid_input.status} \`invalid_input\` at any path, or: ` +
    dnsErrorsBeforeRouting.map(({ status, code, meaning }) => `${status} \`${code}\`: ${meaning}`).join(' '),
  `Every GET path also supports HEAD. ${bodyNotTaken} Request bodies may have fields that are not described here: they are passed on.`,
  `${mayBeAdded} Only \`meta.pagination\` always has exactly the members described here, because clients depend on it.`,
].join('\n\n');

/** Renders the OpenAPI 3.1 document of the DNS record API from the served routes and the validation schemas. */
export function dnsOpenApi(serverUrl: string, routes: readonly DnsRoute[]): object {
  const schemas = documentSchemas(dnsNamedSchemas);
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route, schemas) };
  }
  const used = new Set(routes.map(tagOf));
  return {
    openapi: '3.1.0',
    info: { title: 'DNS record API', version: '1', description },
    servers: [{ url: serverUrl, description: 'This installation' }],
    tags: tags.filter(({ name }) => used.has(name)),
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A DNS token of 64 characters.' } },
      schemas: schemas.components,
      headers: answerHeaders,
      examples: dnsErrorExamples,
    },
  };
}

function tagOf({ path }: DnsRoute): (typeof tags)[number]['name'] {
  if (path.startsWith('/demos')) return 'Demos';
  if (path === '/token') return 'Token';
  if (path.includes('/rrsets')) return 'Record sets';
  return path.includes('/actions') ? 'Actions' : 'Zones';
}

function operationOf(route: DnsRoute, { request }: DocumentSchemas): object {
  const { operationId, body } = route;
  return {
    operationId,
    tags: [tagOf(route)],
    summary: route.summary,
    // The empty requirement makes the token optional.
    ...(route.tokenless === undefined ? {} : { security: [{ token: [] }, {}] }),
    parameters: [
      ...pathParametersOf(route.path).map((name) => ({
        name,
        in: 'path',
        required: true,
        ...(dnsPathParameters[name] ?? { schema: { type: 'string', minLength: 1 } }),
      })),
      ...(route.query ?? []).map(queryParameter),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, ...jsonContent(request(body), dnsRequestExamples[operationId]) } }),
    responses: { [route.status]: successOf(route), ...refusals(route) },
  };
}

const jsonContent = (schema: object, examples: object | undefined) => ({
  content: { 'application/json': { schema, ...(examples === undefined ? {} : { examples }) } },
});

function queryParameter(parameter: DnsQueryParameter): object {
  const { name, type, repeatable, required = false, pattern, values } = parameter;
  const { schema: narrower = {}, ...note } = dnsQueryNotes[name] ?? {};
  const one = { type, ...narrower, ...(pattern ? { pattern } : {}), ...(values ? { enum: values } : {}) };
  const { [name]: maxItems } = repetitionsMax;
  const many = { type: 'array', items: one, ...(required ? { minItems: 1 } : {}), ...(maxItems ? { maxItems } : {}) };
  return {
    name,
    in: 'query',
    description: parameter.description,
    required,
    schema: repeatable ? many : one,
    ...(repeatable ? { style: 'form', explode: true } : {}),
    ...note,
  };
}

function successOf({ status, answer }: DnsRoute): object {
  return {
    description: status === 201 ? 'Accepted or created' : 'Done',
    headers: headersOf(status),
    ...(answer === null ? {} : jsonContent(refTo('schemas', dnsAnswerNameOf(answer)), dnsAnswerExamples[answer])),
  };
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly meaning: string;
  /** Key of its example. */
  readonly example: string;
}

function refusals(route: DnsRoute): Record<string, object> {
  const own = dnsErrorsOf(route).map((code: DnsErrorCode) => ({ code, ...dnsErrorCodes[code], example: code }));
  const upstream = dnsUpstreamErrorsOf(route).map(({ status, code, meaning }) => ({
    status,
    code,
    example: `upstream_refusal_${code}`,
    meaning: `${meaning} Passed through from the upstream.`,
  }));
  const all = new Map<string, Refusal>([...own, ...upstream].map((each) => [each.example, each]));
  const groups = byStatus([...all.keys()], (key) => (all.get(key) as Refusal).status);
  return Object.fromEntries(
    groups.map(([status, keys]) => [
      status,
      refusalOf(
        status,
        keys.map((key) => all.get(key) as Refusal),
      ),
    ]),
  );
}

function refusalOf(status: number, refused: readonly Refusal[]): object {
  const examples = Object.fromEntries(refused.map(({ example }) => [example, refTo('examples', example)]));
  return {
    description: refused.map(({ code: name, meaning }) => `\`${name}\`: ${meaning}`).join('\n\n'),
    headers: headersOf(status),
    ...jsonContent(refTo('schemas', 'Error'), examples),
  };
}
