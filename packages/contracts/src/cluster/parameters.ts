import { slugSchema } from '../dns/names.js';
import type { DocumentParameter, ParameterNote } from '../openapi/document.js';
import { timePattern } from '../time.js';
import { hostedNameNameSchema } from './clusters/hosted-name.js';
import { clusterNameSchema, poolNameSchema, refSchema } from './clusters/requests.js';
import { clusterLimits } from './limits.js';
import type { ClusterRoute } from './route.js';
import { number, uuid } from './schema-parts.js';

const slug = { description: 'Slug of a team of the caller.', schema: slugSchema, example: 'acme' } as const;

/** Path parameters by name. */
const pathParameters: Readonly<Record<string, ParameterNote>> = {
  team: slug,
  team_slug: slug,
  team_id: { description: 'Number of a team of the caller.', schema: number, example: 3 },
  name: { description: 'Name of a cluster of the team.', schema: clusterNameSchema, example: 'web' },
  cluster: { description: 'Name of a cluster of the team.', schema: clusterNameSchema, example: 'web' },
  host: {
    description: 'Name on the cluster, relative to the zone.',
    schema: hostedNameNameSchema,
    example: 'shop.acme',
  },
  account: { description: 'Name of a service account of the team.', schema: clusterNameSchema, example: 'ci' },
  issuer: { description: 'Name of a trusted issuer of the team.', schema: clusterNameSchema, example: 'github' },
  webhook: { description: 'Name of a webhook of the team.', schema: clusterNameSchema, example: 'chat' },
  pool: { description: 'Name of a node pool of the cluster.', schema: poolNameSchema, example: 'general' },
  ref: { description: 'Ref of a connection of the team.', schema: refSchema, example: 'main' },
  id: {
    description: 'Id, as in lists and answers.',
    // Answers have small letters only.
    schema: { ...uuid, pattern: uuid.pattern.replaceAll('a-f', 'A-Fa-f') },
    example: '0197b2f0-3c5e-7d2a-9b41-6f0e8a1c2d34',
  },
  user_code: {
    description: 'The code that the machine shows, in capitals or small letters, with or without a hyphen.',
    schema: { type: 'string', minLength: 1, maxLength: 64 },
    example: 'BCDF-GHJK',
  },
  server_id: {
    description: 'The provider’s number of a server.',
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    example: 42_017,
  },
};

/** Exceptions, by the preceding part of the path. */
const byPrecedent: Readonly<Record<string, ParameterNote>> = {
  'audit/{id}': {
    description: 'Id of an entry of the audit log, as in the list.',
    schema: { type: 'string', maxLength: 22, pattern: '^(api|dns)-[0-9]{1,18}$' },
    example: 'dns-4711',
  },
  'members/{id}': { description: 'Number of the membership, as in lists.', schema: number, example: 12 },
};

/** @throws Error for a parameter without documentation */
export function pathParameterOf(path: string, name: string): DocumentParameter {
  const precedent = Object.keys(byPrecedent).find((part) => part.endsWith(`{${name}}`) && path.includes(`/${part}`));
  const note = precedent === undefined ? pathParameters[name] : byPrecedent[precedent];
  if (note === undefined) throw new Error(`The path parameter ${name} has no documentation.`);
  return { name, in: 'path', required: true, ...note };
}

/** Schemas of the query parameter types. */
export const queryTypes = {
  string: { type: 'string' },
  integer: { type: 'integer', minimum: 0, maximum: 999_999_999 },
  boolean: { type: 'boolean' },
  time: { type: 'string', format: 'date-time', pattern: timePattern },
} as const;

/** Narrower schemas and examples of query parameters, by name. */
export const queryNotes: Readonly<Record<string, { readonly schema?: object; readonly example?: string | number }>> = {
  limit: {
    schema: { minimum: 1, maximum: clusterLimits.listItemsMax, default: clusterLimits.listItemsDefault },
    example: 20,
  },
  cursor: { schema: { minLength: 1, pattern: '^[A-Za-z0-9_-]+$' }, example: 'WyJ3ZWIiXQ' },
  target: { example: 'web' },
  connection: { example: 'main' },
  action: { example: 'cluster.declare' },
  from: { example: '2026-11-21T00:00:00Z' },
  to: { example: '2026-11-22T00:00:00Z' },
};

const requestHeaders = {
  'Last-Event-ID': {
    description: '`id` of the last event received. The stream continues after it.',
    schema: { type: 'string', maxLength: 200 },
    example: 'NzQ1LjEyLjE3OTUzNDg4MDAwMDA',
  },
  Prefer: {
    description:
      `\`wait=30\`: answers when the operation is final, or after that many seconds, at most ${clusterLimits.operationWaitSecondsMax}. ` +
      '`Preference-Applied` says that it was so; without it the answer came at once, because too many requests wait already, ' +
      'or because the replica shuts down.',
    schema: { type: 'string', maxLength: 1_000, pattern: '^wait=\\d{1,9}$' },
    example: 'wait=30',
  },
  'If-Match': {
    description:
      'The change is made only if the declared resource still has this entity tag; otherwise the answer is 412. Changes ' +
      'of its status are ignored, and so is `W/`, which proxies add when they compress an answer.',
    schema: { type: 'string', maxLength: 1_000 },
    example: '"0197b2f0-0000-7000-8000-00000000c1c1.2.7"',
  },
  'Corral-Signature': {
    description: 'Unix time in seconds, and HMAC-SHA256 (hex) over that time, a full stop and the bytes of the body.',
    schema: { type: 'string', maxLength: 1_000 },
    example: `t=1795255200,v1=${'5d'.repeat(32)}`,
  },
  'Idempotency-Key': {
    description: 'Identifies this request. A repeated request with the same key has the outcome of the first.',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: clusterLimits.idempotencyKeyCharacters,
      pattern: '^[\\x21-\\x7e]+$',
    },
    example: '5f1c2b7e-nightly-resume',
  },
} as const satisfies Record<string, ParameterNote>;

const createsByPut = ['putCluster', 'putNodePool', 'putConnection'];

export function headerParametersOf(route: ClusterRoute): DocumentParameter[] {
  const header = (name: keyof typeof requestHeaders, required = false): DocumentParameter => ({
    name,
    in: 'header',
    required,
    ...requestHeaders[name],
  });
  const ifNoneMatch = (description: string, example: string): DocumentParameter => ({
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', maxLength: 1_000 },
    example,
  });
  const { operationId } = route;
  return [
    ...(route.conditional ? [header('If-Match')] : []),
    ...(createsByPut.includes(operationId)
      ? [ifNoneMatch('`*`: create only; do not change an existing resource.', '*')]
      : []),
    ...(304 in route.answers
      ? [ifNoneMatch('Entity tag of the client’s copy.', requestHeaders['If-Match'].example)]
      : []),
    ...(route.events ? [header('Last-Event-ID')] : []),
    ...(operationId === 'getOperation' ? [header('Prefer')] : []),
    ...(operationId === 'takeBillingEvent' ? [header('Corral-Signature', true)] : []),
    ...(route.idempotent ? [header('Idempotency-Key')] : []),
  ];
}
