/* Renders the OpenAPI 3.1 documents of both APIs. What stands in several operations is a component. */

import type { DocumentSchemas } from './schemas.js';

export interface Tag {
  readonly name: string;
  readonly description: string;
}

export interface DocumentHeader {
  readonly description: string;
  readonly schema: object;
}

export interface DocumentParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: object;
  readonly example?: unknown;
}

/** Documentation of a parameter, apart from its name and place. */
export type ParameterNote = Pick<DocumentParameter, 'description' | 'schema' | 'example'>;

interface DocumentBody {
  readonly schema: object;
  readonly required: boolean;
  readonly mediaTypes: readonly string[];
  readonly example: unknown;
}

export interface DocumentSuccess {
  /** The name of the component, when no other answer has it. */
  readonly name: string;
  readonly status: number;
  readonly description: string;
  /** Headers in addition to those of every answer. */
  readonly headers: readonly string[];
  /** Absent for an answer without a body. */
  readonly content?: { readonly mediaType: string; readonly schema: object };
}

interface DocumentRefusal {
  readonly status: number;
  readonly code: string;
  readonly meaning: string;
  /** Tells apart what has the same code. Default: the code. */
  readonly name?: string;
}

export interface DocumentOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Default: as the document says. */
  readonly security?: readonly object[];
  readonly parameters: readonly DocumentParameter[];
  readonly body?: DocumentBody;
  readonly successes: readonly DocumentSuccess[];
  readonly refusals: readonly DocumentRefusal[];
}

export interface ApiDocument {
  readonly title: string;
  readonly description: string;
  readonly serverUrl: string;
  /** Tags in the order of the documentation. Those without an operation are left out. */
  readonly tags: readonly Tag[];
  readonly security: readonly object[];
  readonly securitySchemes: Readonly<Record<string, object>>;
  readonly schemas: DocumentSchemas;
  /** Headers beyond those that both APIs have, by name. */
  readonly headers?: Readonly<Record<string, DocumentHeader>>;
  readonly refusalBody: { readonly mediaType: string; readonly schema: string };
  readonly operations: readonly DocumentOperation[];
}

const count = { type: 'integer', minimum: 0 } as const;

const commonHeaders: Readonly<Record<string, DocumentHeader>> = {
  'X-Correlation-Id': {
    description: 'Id of the request. Include it in problem reports.',
    schema: { type: 'string', pattern: '^[0-9a-f-]{36}$' },
  },
  'RateLimit-Limit': { description: 'Size of the limit that is closest to being reached.', schema: count },
  'RateLimit-Remaining': { description: 'Remaining requests of that limit.', schema: count },
  'RateLimit-Reset': { description: 'Unix time at which the limit is full again.', schema: count },
  'Retry-After': {
    description:
      'Seconds to wait before repeating the request. Of an operation that has not ended, and with 202: seconds after which a look ' +
      'at it may show something new.',
    schema: count,
  },
  'WWW-Authenticate': {
    description: '`Bearer`, with `error="invalid_token"` if a token was sent (RFC 6750).',
    schema: { type: 'string' },
  },
  Allow: { description: 'The methods that the path supports.', schema: { type: 'string' } },
};
const ofEveryAnswer = ['X-Correlation-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
const ofRefusals: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  502: ['Retry-After'],
  503: ['Retry-After'],
};

/** What clients of this version must expect from later ones. */
export const mayBeAdded =
  'Later releases may add members to answers, optional members and parameters to requests, headers, routes, error codes, and ' +
  'values to the enumerations that say so. Clients must ignore what they do not know.';

/** The answer to a body that an operation does not take. */
export const bodyNotTaken =
  'An operation without a request body, other than a GET, takes none or an empty one (`{}` or `null`), and refuses any other.';

export const refTo = (section: 'schemas' | 'headers' | 'parameters' | 'responses', name: string): object => ({
  $ref: `#/components/${section}/${name}`,
});

/** The names in braces, in order. */
export const pathParametersOf = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);

/** @returns an OpenAPI document, ready to be sent as JSON */
export function openApiDocument(api: ApiDocument): object {
  const parameters = new Components('parameters');
  const responses = new Components('responses');
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of api.operations) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method]: rendered(operation, api.refusalBody, { parameters, responses }) };
  }
  const used = new Set(api.operations.map(({ tag }) => tag));
  return {
    openapi: '3.1.0',
    info: { title: api.title, version: '1', description: api.description },
    servers: [{ url: api.serverUrl, description: 'This installation' }],
    tags: api.tags.filter(({ name }) => used.has(name)),
    security: api.security,
    paths,
    components: {
      securitySchemes: api.securitySchemes,
      schemas: api.schemas.components,
      parameters: parameters.all,
      headers: { ...commonHeaders, ...api.headers },
      responses: responses.all,
    },
  };
}

/** A section of components, which fills while operations refer to it. */
class Components {
  readonly all: Record<string, object> = {};
  constructor(private readonly section: 'parameters' | 'responses') {}

  /** A reference. The value itself, when the name already stands for another one. */
  refer(name: string, value: object): object {
    this.all[name] ??= value;
    return JSON.stringify(this.all[name]) === JSON.stringify(value) ? refTo(this.section, name) : value;
  }
}

function rendered(
  operation: DocumentOperation,
  refusalBody: ApiDocument['refusalBody'],
  { parameters, responses }: { parameters: Components; responses: Components },
): object {
  const { operationId, tag, summary, description, security, body } = operation;
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(security === undefined ? {} : { security }),
    parameters: operation.parameters.map((parameter) => parameters.refer(parameter.name, parameter)),
    ...(body === undefined ? {} : { requestBody: requestBodyOf(body) }),
    responses: {
      ...Object.fromEntries(
        operation.successes.map((success) => [success.status, responses.refer(success.name, successOf(success))]),
      ),
      ...Object.fromEntries(
        byStatus(operation.refusals).map(([status, refusals]) => [
          status,
          responses.refer(nameOf(refusals), refusalOf(status, refusals, refusalBody)),
        ]),
      ),
    },
  };
}

const requestBodyOf = ({ schema, required, mediaTypes, example }: DocumentBody): object => ({
  required,
  content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema, example }])),
});

const successOf = ({ description, headers, content }: DocumentSuccess): object => ({
  description,
  headers: headersOf([...ofEveryAnswer, ...headers]),
  ...(content === undefined ? {} : { content: { [content.mediaType]: { schema: content.schema } } }),
});

function refusalOf(
  status: number,
  refusals: readonly DocumentRefusal[],
  { mediaType, schema }: ApiDocument['refusalBody'],
): object {
  return {
    description: refusals.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join('\n\n'),
    headers: headersOf([...ofEveryAnswer, ...(ofRefusals[status] ?? [])]),
    content: { [mediaType]: { schema: refTo('schemas', schema) } },
  };
}

const headersOf = (names: readonly string[]): object =>
  Object.fromEntries(names.map((name) => [name, refTo('headers', name)]));

/** Groups refusals, in the order of both. */
function byStatus(refusals: readonly DocumentRefusal[]): [number, DocumentRefusal[]][] {
  const groups = new Map<number, DocumentRefusal[]>();
  for (const refusal of refusals) groups.set(refusal.status, [...(groups.get(refusal.status) ?? []), refusal]);
  return [...groups];
}

/** Makes a name from codes, such as `NotFound` and `PermissionDeniedOrQuotaExceeded`. */
const nameOf = (refusals: readonly DocumentRefusal[]): string =>
  refusals
    .map(({ code, name = code }) => name.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase()))
    .join('Or');
