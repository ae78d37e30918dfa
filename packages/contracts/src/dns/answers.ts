import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { parserFor } from '../parser-for.js';
import { dnsErrorCodes } from './error-codes.js';
import { dnsLimits } from './limits.js';

/*
 * Answer bodies in the upstream's shapes. They list what clients rely on; additional upstream fields pass through.
 * Exception: `meta.pagination` has exactly six keys, because clients pass them as keyword arguments.
 */

const idSchema = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const satisfies JSONSchema;
const timeSchema = { type: 'string', format: 'date-time', minLength: 1 } as const satisfies JSONSchema;
const stringMapSchema = { type: 'object', additionalProperties: { type: 'string' } } as const satisfies JSONSchema;

export const zoneSchema = {
  type: 'object',
  required: [
    'id',
    'name',
    'created',
    'mode',
    'ttl',
    'labels',
    'protection',
    'authoritative_nameservers',
    'registrar',
    'status',
    'record_count',
  ],
  properties: {
    id: idSchema,
    name: { type: 'string' },
    created: timeSchema,
    mode: { enum: ['primary', 'secondary'] },
    ttl: { type: 'integer' },
    labels: stringMapSchema,
    protection: { type: 'object', required: ['delete'], properties: { delete: { type: 'boolean' } } },
    primary_nameservers: { type: 'array' },
    authoritative_nameservers: {
      type: 'object',
      properties: {
        assigned: { type: 'array', items: { type: 'string' } },
        delegated: { type: 'array', items: { type: 'string' } },
        delegation_last_check: { ...timeSchema, type: ['string', 'null'] },
        delegation_status: { type: 'string' },
      },
    },
    registrar: { type: 'string' },
    status: { type: 'string', minLength: 1 },
    record_count: { type: 'integer' },
  },
} as const satisfies JSONSchema;

export const answerRecordSchema = {
  type: 'object',
  required: ['value', 'comment'],
  properties: { value: { type: 'string' }, comment: { type: 'string' } },
} as const satisfies JSONSchema;

export const rrsetSchema = {
  type: 'object',
  required: ['id', 'name', 'type', 'ttl', 'labels', 'protection', 'records', 'zone'],
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    type: { type: 'string' },
    ttl: { type: ['integer', 'null'] },
    labels: stringMapSchema,
    protection: { type: 'object', required: ['change'], properties: { change: { type: 'boolean' } } },
    records: { type: 'array', minItems: 1, items: answerRecordSchema },
    zone: idSchema,
  },
} as const satisfies JSONSchema;

export const actionStatuses = ['running', 'success', 'error'] as const;
export const actionSchema = {
  type: 'object',
  required: ['id', 'command', 'status', 'progress', 'started', 'finished', 'resources', 'error'],
  properties: {
    id: idSchema,
    command: { type: 'string' },
    status: { enum: actionStatuses },
    progress: { type: 'integer', minimum: 0, maximum: 100 },
    started: timeSchema,
    finished: { ...timeSchema, type: ['string', 'null'] },
    resources: {
      type: 'array',
      items: { type: 'object', required: ['id', 'type'], properties: { id: idSchema, type: { type: 'string' } } },
    },
    error: {
      type: ['object', 'null'],
      required: ['code', 'message'],
      properties: { code: { type: 'string' }, message: { type: 'string' } },
    },
  },
} as const satisfies JSONSchema;

export const paginationSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['page', 'per_page', 'previous_page', 'next_page', 'last_page', 'total_entries'],
  properties: {
    page: { type: 'integer', minimum: 1 },
    per_page: { type: 'integer', minimum: 1 },
    previous_page: { type: ['integer', 'null'] },
    next_page: { type: ['integer', 'null'] },
    last_page: { type: 'integer', minimum: 1 },
    total_entries: { type: 'integer', minimum: 0 },
  },
} as const satisfies JSONSchema;

/** A short-lived name in the demo zone. The upstream has no such thing. */
export const demoSchema = {
  type: 'object',
  required: ['label', 'name', 'zone', 'ttl', 'created_at', 'expires_at', 'max_expires_at', 'records'],
  properties: {
    label: {
      type: 'string',
      minLength: 1,
      description: 'Name in the zone. The token of the demo can write this name and all names below it.',
    },
    name: { type: 'string', minLength: 1, description: 'The requested name, or the label if no name was requested.' },
    zone: { type: 'string', minLength: 1, description: 'Name of the demo zone.' },
    ttl: { type: 'integer', description: 'Requested lifetime in seconds, as of the last change.' },
    created_at: timeSchema,
    expires_at: timeSchema,
    max_expires_at: { ...timeSchema, description: 'Latest possible expiry, extensions included.' },
    records: { type: 'integer', minimum: 0, description: `Number of records, at most ${dnsLimits.recordsPerDemo}.` },
  },
} as const satisfies JSONSchema;

const requestLimitSchema = {
  type: 'object',
  required: ['limit', 'remaining', 'reset_at'],
  properties: {
    limit: { type: 'integer', minimum: 1, description: 'Requests per minute.' },
    remaining: { type: 'integer', minimum: 0, description: 'Requests left, after this one.' },
    reset_at: { ...timeSchema, description: 'When all of them are available again, without further requests.' },
  },
} as const satisfies JSONSchema;

/** What a token says about itself. The upstream has no such route. */
export const tokenSchema = {
  type: 'object',
  required: [
    'id',
    'name',
    'kind',
    'scopes',
    'created_at',
    'expires_at',
    'team',
    'demo',
    'endpoint',
    'zone',
    'names',
    'types',
    'requests',
    'records',
  ],
  properties: {
    id: { type: 'string', minLength: 1 },
    name: { type: 'string', minLength: 1 },
    kind: {
      enum: ['team', 'session', 'demo'],
      description: '`team`: issued by the team. `session`: of a signed-in person. `demo`: of a demo.',
    },
    scopes: { type: 'array', items: { type: 'string' }, description: 'Without `dns` the token can only read itself.' },
    created_at: timeSchema,
    expires_at: { ...timeSchema, type: ['string', 'null'], description: 'Null: valid until it is revoked.' },
    team: { type: ['string', 'null'], minLength: 1, description: 'Null for the token of a demo.' },
    demo: { type: ['string', 'null'], minLength: 1, description: 'Label of the demo.' },
    endpoint: {
      type: ['string', 'null'],
      minLength: 1,
      description: 'Base address of this API; null if the installation does not state it.',
    },
    zone: { type: 'object', required: ['id', 'name'], properties: { id: idSchema, name: { type: 'string' } } },
    names: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'The token reads and writes these names and all names below them, relative to the zone.',
    },
    types: {
      type: 'array',
      items: { type: 'string' },
      description: 'Record types that it writes. It reads all types.',
    },
    requests: {
      type: 'object',
      required: ['per_token', 'per_team'],
      description: 'Request limits. A demo counts as its team or course.',
      properties: { per_token: requestLimitSchema, per_team: requestLimitSchema },
    },
    records: {
      type: ['object', 'null'],
      required: ['used', 'reserved', 'limit', 'limit_per_rrset'],
      description:
        'Quota of the team or demo. Null without the scope `dns`. `reserved` counts records of writes whose outcome is open.',
      properties: {
        used: { type: 'integer', minimum: 0 },
        reserved: { type: 'integer', minimum: 0 },
        limit: { type: 'integer', minimum: 0 },
        limit_per_rrset: { type: 'integer', minimum: 1 },
      },
    },
  },
} as const satisfies JSONSchema;

export const metaSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['pagination'],
  properties: { pagination: paginationSchema },
} as const satisfies JSONSchema;

/** An object with exactly these members, all required. */
function exactly<P extends Record<string, JSONSchema>>(properties: P) {
  return { type: 'object', additionalProperties: false, required: Object.keys(properties), properties } as const;
}

/** An object with at least these members; the upstream may send others. */
function atLeast<P extends Record<string, JSONSchema>>(properties: P) {
  return { type: 'object', required: Object.keys(properties), properties } as const;
}

export const dnsAnswerSchemas = {
  zoneList: exactly({ zones: { type: 'array', items: zoneSchema }, meta: metaSchema }),
  zone: exactly({ zone: zoneSchema }),
  rrsetList: exactly({ rrsets: { type: 'array', items: rrsetSchema }, meta: metaSchema }),
  rrset: atLeast({ rrset: rrsetSchema }),
  created: atLeast({ rrset: rrsetSchema, action: actionSchema }),
  action: atLeast({ action: actionSchema }),
  actionList: exactly({ actions: { type: 'array', items: actionSchema } }),
  actionPage: {
    ...exactly({ actions: { type: 'array', items: actionSchema }, meta: metaSchema }),
    required: ['actions'],
    description: 'A request for actions by ID returns no `meta`.',
  },
  token: atLeast({ token: tokenSchema }),
  demo: exactly({ demo: demoSchema }),
  createdDemo: exactly({ demo: demoSchema, token: { type: 'string', pattern: '^[A-Za-z0-9]{64}$' } }),
  demoList: exactly({ demos: { type: 'array', items: demoSchema }, meta: metaSchema }),
  error: exactly({
    error: {
      type: 'object',
      required: ['code', 'message', 'details'],
      properties: {
        code: { type: 'string', examples: Object.keys(dnsErrorCodes) },
        message: { type: 'string', minLength: 1 },
        details: { type: ['object', 'null'] },
      },
    },
  }),
} as const;
export type DnsAnswer = keyof typeof dnsAnswerSchemas;

export type Pagination = FromSchema<typeof paginationSchema>;
export type Action = FromSchema<typeof actionSchema>;
export type Rrset = FromSchema<typeof rrsetSchema>;
export type Zone = FromSchema<typeof zoneSchema>;
export type TokenBody = FromSchema<typeof tokenSchema>;
export type DemoBody = FromSchema<typeof demoSchema>;

/** Throws `InvalidBody` when an answer does not match its schema. */
export const checkDnsAnswer: Record<DnsAnswer, (body: unknown) => unknown> = Object.fromEntries(
  Object.entries(dnsAnswerSchemas).map(([name, schema]) => [name, parserFor<unknown>(schema)]),
) as Record<DnsAnswer, (body: unknown) => unknown>;
