import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { parserFor } from '../parser-for.js';
import { atLeast, exactly } from '../schema-objects.js';
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
    protection: atLeast({ delete: { type: 'boolean' } }),
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

export const answerRecordSchema = atLeast({ value: { type: 'string' }, comment: { type: 'string' } });

export const rrsetSchema = atLeast({
  id: { type: 'string' },
  name: { type: 'string' },
  type: { type: 'string' },
  ttl: { type: ['integer', 'null'] },
  labels: stringMapSchema,
  protection: atLeast({ change: { type: 'boolean' } }),
  records: { type: 'array', minItems: 1, items: answerRecordSchema },
  zone: idSchema,
});

export const actionStatuses = ['running', 'success', 'error'] as const;
export const actionSchema = atLeast({
  id: idSchema,
  command: { type: 'string' },
  status: { enum: actionStatuses },
  progress: { type: 'integer', minimum: 0, maximum: 100 },
  started: timeSchema,
  finished: { ...timeSchema, type: ['string', 'null'] },
  resources: { type: 'array', items: atLeast({ id: idSchema, type: { type: 'string' } }) },
  error: { ...atLeast({ code: { type: 'string' }, message: { type: 'string' } }), type: ['object', 'null'] },
});

export const paginationSchema = exactly({
  page: { type: 'integer', minimum: 1 },
  per_page: { type: 'integer', minimum: 1 },
  previous_page: { type: ['integer', 'null'] },
  next_page: { type: ['integer', 'null'] },
  last_page: { type: 'integer', minimum: 1 },
  total_entries: { type: 'integer', minimum: 0 },
});

/** A short-lived name in the demo zone, which the upstream's API does not have. */
export const demoSchema = atLeast({
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
});

const requestLimitSchema = atLeast({
  limit: { type: 'integer', minimum: 1, description: 'Requests per minute.' },
  remaining: { type: 'integer', minimum: 0, description: 'Requests left, after this one.' },
  reset_at: { ...timeSchema, description: 'When all of them are available again, without further requests.' },
});

/** What a token says about itself, which the upstream's API does not have. */
export const tokenSchema = atLeast({
  id: { type: 'string', minLength: 1 },
  name: { type: 'string', minLength: 1 },
  kind: {
    enum: ['team', 'session', 'demo'],
    description:
      '`team`: issued by the team. `session`: of a signed-in person or of a service account, for 15 minutes. `demo`: of a demo.',
  },
  scopes: {
    type: 'array',
    items: { type: 'string' },
    description: '`dns` reads and writes, `dns:read` only reads. Without either the token can only read itself.',
  },
  created_at: timeSchema,
  expires_at: { ...timeSchema, type: ['string', 'null'], description: 'Null: valid until it is revoked.' },
  team: { type: ['string', 'null'], minLength: 1, description: 'Null for the token of a demo.' },
  demo: { type: ['string', 'null'], minLength: 1, description: 'Label of the demo.' },
  endpoint: {
    type: ['string', 'null'],
    minLength: 1,
    description: 'Base address of this API; null if the installation does not state it.',
  },
  zone: atLeast({ id: idSchema, name: { type: 'string' } }),
  names: {
    type: 'array',
    items: { type: 'string', minLength: 1 },
    description: 'The token reads and writes these names and all names below them, relative to the zone.',
  },
  types: { type: 'array', items: { type: 'string' }, description: 'Record types that it writes. It reads all types.' },
  requests: {
    ...atLeast({ per_token: requestLimitSchema, per_team: requestLimitSchema }),
    description: 'Request limits. A demo counts as its team or course.',
  },
  records: {
    ...atLeast({
      used: { type: 'integer', minimum: 0 },
      reserved: { type: 'integer', minimum: 0 },
      limit: { type: 'integer', minimum: 0 },
      limit_per_rrset: { type: 'integer', minimum: 1 },
    }),
    type: ['object', 'null'],
    description:
      'Quota of the team or demo. Null without the scope `dns`. `reserved` counts records of writes whose outcome is open.',
  },
});

export const metaSchema = exactly({ pagination: paginationSchema });

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
    error: atLeast({
      code: { type: 'string', examples: Object.keys(dnsErrorCodes) },
      message: { type: 'string', minLength: 1 },
      details: { type: ['object', 'null'] },
    }),
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
