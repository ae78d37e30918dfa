import {
  bodyNotTaken,
  type DocumentOperation,
  type DocumentParameter,
  mayBeAdded,
  openApiDocument,
  type ParameterNote,
  pathParametersOf,
  refTo,
} from '../openapi/document.js';
import { documentSchemas } from '../openapi/schemas.js';
import { dnsErrorCodes, dnsErrorsBeforeRouting } from './error-codes.js';
import { dnsRequestExamples } from './examples.js';
import { dnsLimits } from './limits.js';
import { dnsAnswerNameOf, dnsNamedSchemas } from './named-schemas.js';
import { slugSchema } from './names.js';
import {
  type DnsQueryParameter,
  type DnsRoute,
  dnsErrorsOf,
  dnsStrangerVerdictOf,
  dnsUpstreamErrorsOf,
  isForwarded,
  type StrangerVerdict,
} from './routes.js';

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
    `actions run, the answer comes when the first of them has finished, or after ${dnsLimits.actionHoldMs / 1_000} s. ` +
    'Where the operator has listed the name servers of the zone, an action runs until all of them answer its write, for a bounded time.',
  `A request that cannot be read gets ${dnsErrorCodes.invalid_input.status} \`invalid_input\` at any path, or: ` +
    dnsErrorsBeforeRouting.map(({ status, code, meaning }) => `${status} \`${code}\`: ${meaning}`).join(' '),
  `Every GET path also supports HEAD. ${bodyNotTaken} Request bodies may have fields that are not described here: they are passed on.`,
  `${mayBeAdded} Only \`meta.pagination\` always has exactly the members described here, because clients depend on it.`,
].join('\n\n');

/** Renders the OpenAPI 3.1 document of the DNS record API from the served routes and the validation schemas. */
export function dnsOpenApi(serverUrl: string, routes: readonly DnsRoute[]): object {
  const schemas = documentSchemas(dnsNamedSchemas);
  return openApiDocument({
    title: 'DNS record API',
    description,
    serverUrl,
    tags,
    security: [{ token: [] }],
    securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A DNS token of 64 characters.' } },
    schemas,
    refusalBody: { mediaType: 'application/json', schema: 'Error' },
    operations: routes.map((route) => operationOf(route, schemas.request)),
  });
}

function tagOf({ path }: DnsRoute): (typeof tags)[number]['name'] {
  if (path.startsWith('/demos')) return 'Demos';
  if (path === '/token') return 'Token';
  if (path.includes('/rrsets')) return 'Record sets';
  return path.includes('/actions') ? 'Actions' : 'Zones';
}

function operationOf(route: DnsRoute, render: (schema: object) => object): DocumentOperation {
  const { operationId, method, path, summary, status, answer, body } = route;
  return {
    operationId,
    method,
    path,
    tag: tagOf(route),
    summary,
    description: descriptionOf(route),
    // The empty requirement makes the token optional.
    ...(route.tokenless === undefined ? {} : { security: [{ token: [] }, {}] }),
    parameters: [...pathParametersOf(path).map(pathParameter), ...(route.query ?? []).map(queryParameter)],
    ...(body === undefined
      ? {}
      : {
          body: {
            schema: render(body),
            required: true,
            mediaTypes: [JSON_TYPE],
            example: dnsRequestExamples[operationId],
          },
        }),
    successes: [
      {
        status,
        name: answer === null ? 'NoContent' : dnsAnswerNameOf(answer),
        description: status === 201 ? 'Accepted or created' : 'Done',
        headers: [],
        ...(answer === null
          ? {}
          : { content: { mediaType: JSON_TYPE, schema: refTo('schemas', dnsAnswerNameOf(answer)) } }),
      },
    ],
    refusals: [
      ...dnsErrorsOf(route).map((code) => ({ code, ...dnsErrorCodes[code] })),
      ...dnsUpstreamErrorsOf(route).map(({ status, code, meaning }) => ({
        status,
        code,
        name: `upstream_${code}`,
        meaning: `${meaning} Passed through from the upstream.`,
      })),
    ],
  };
}

const JSON_TYPE = 'application/json';

const ofOtherTeams: Readonly<Record<StrangerVerdict, string>> = {
  hidden: 'What belongs to another team is answered 404, like what does not exist.',
  forbidden: 'A name of another team is answered 403, whether it exists or not.',
  'left out': 'Without what belongs to other teams.',
  shared: 'The same for all teams.',
};

function descriptionOf(route: DnsRoute): string {
  if (route.anyScope) return 'For every valid token, whatever its scopes.';
  return [
    route.tokenless === undefined
      ? `Requires a token with the scope \`dns\`${route.kind === 'read' ? ' or `dns:read`' : ''}.`
      : `Requires a token with the scope \`dns\` or, without one, a request ${route.tokenless}.`,
    ...(route.operationId === 'createDemo' ? [] : [ofOtherTeams[dnsStrangerVerdictOf(route)]]),
    ...(isForwarded(route) ? ['The change is sent upstream once; one record set changes at a time.'] : []),
  ].join(' ');
}

function pathParameter(name: string): DocumentParameter {
  const note = dnsPathParameters[name];
  if (note === undefined) throw new Error(`The path parameter ${name} has no documentation.`);
  return { name, in: 'path', required: true, ...note };
}

function queryParameter(parameter: DnsQueryParameter): DocumentParameter {
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

/** Also of the numbers of pages and of their items. */
const id = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;

/** Path parameters by name. */
const dnsPathParameters: Readonly<Record<string, ParameterNote>> = {
  zone: {
    description: 'ID or name of the zone.',
    schema: { type: 'string', minLength: 1, maxLength: dnsLimits.fullNameCharacters },
    example: 'example.test',
  },
  name: {
    description:
      'Name of the record set, relative to the zone: lower-case labels. `*` is allowed only as the whole first label.',
    schema: {
      type: 'string',
      maxLength: dnsLimits.fullNameCharacters,
      pattern: '^(\\*|[a-z0-9_-]{1,63})(\\.[a-z0-9_-]{1,63})*$',
    },
    example: 'www.acme',
  },
  type: {
    description: 'Record type. Writes support `A`, `AAAA`, `CNAME` and `TXT`.',
    schema: { type: 'string', pattern: '^[A-Z0-9]{1,16}$' },
    example: 'A',
  },
  id: { description: 'ID of an action.', schema: id, example: 91 },
  label: { description: 'Label of the demo.', schema: slugSchema, example: 'blue-otter' },
};

/** Narrower schemas and examples of query parameters, by name. */
const dnsQueryNotes: Readonly<Record<string, { readonly schema?: object; readonly example?: unknown }>> = {
  page: { schema: { ...id, default: 1 }, example: 1 },
  per_page: { schema: { ...id, default: dnsLimits.perPageDefault }, example: dnsLimits.perPageMax },
  sort: { example: ['id:desc'] },
  label_selector: { example: 'env=prod' },
  id: { schema: id, example: [91] },
};

/** Limits of repeatable parameters. */
const repetitionsMax: Readonly<Record<string, number>> = { id: dnsLimits.actionIdsPerRequest };
