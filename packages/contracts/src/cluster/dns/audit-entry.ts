import type { FromSchema } from 'json-schema-to-ts';
import { retentionLimits } from '../../retention.js';
import { exactly } from '../../schema-objects.js';
import { fieldChangesSchema, filled, optionalTime, text, time } from '../schema-parts.js';

/** The target kind of an entry, and the first word of its action. `dns`: writes of the DNS API. */
export const auditKinds = [
  'dns',
  'dns_token',
  'cluster',
  'node-pool',
  'connection',
  'kubeconfig',
  'server',
  'team',
  'member',
  'invitation',
  'subscription',
  'session',
  'service_account',
  'webhook',
] as const;
export type AuditKind = (typeof auditKinds)[number];
/** Dotted, such as `connection.replace`. */
export type AuditAction = `${AuditKind}.${string}`;

/**
 * The outcome. `pending`: in progress or still unknown. `completed`: done. `refused`: not done. `unsent`: never sent
 * upstream; counted per minute. `settled`: determined later by reading the record set. `observed`: an upstream change
 * was found.
 */
export const auditOutcomes = ['pending', 'completed', 'refused', 'unsent', 'settled', 'observed'] as const;
export type AuditOutcome = (typeof auditOutcomes)[number];

/**
 * `account`: a service account. `service`: Corral itself. `operator`: an operator of the installation. `upstream`: a change made outside Corral.
 * `course`: a course code.
 */
export const auditActorKinds = ['user', 'token', 'account', 'service', 'operator', 'upstream', 'course'] as const;
export type AuditActorKind = (typeof auditActorKinds)[number];

const optionalText = { type: ['string', 'null'] } as const;
/** JSON as sent or found; a string when it is not valid JSON. */
const body = { type: ['object', 'array', 'string', 'number', 'boolean', 'null'] } as const;

/** Size and digest of a truncated body, which is shown as a string. */
const cut = {
  anyOf: [
    exactly({
      bytes: { type: 'integer', minimum: 1, description: 'Length of the complete body, in UTF-8.' },
      sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'Digest of the complete body.' },
    }),
    { type: 'null' },
  ],
  description: `Set when only the first ${retentionLimits.auditBodyBytes} bytes of the body are kept. The body is then a truncated text.`,
} as const;

const dnsSchema = exactly({
  zone: filled,
  name: { ...text, description: 'With `unsent`: as the client wrote it, so it may be no valid name, and empty.' },
  type: { ...text, description: 'With `unsent`: as the client wrote it, so it may be no valid type, and empty.' },
  requestBody: { ...body, description: 'What the client sent.' },
  requestBodyCut: cut,
  upstreamStatus: { type: ['integer', 'null'], description: 'HTTP status of the upstream’s answer.' },
  upstreamBody: { ...body, description: 'The upstream’s answer.' },
  upstreamBodyCut: cut,
  foundBody: { ...body, description: 'The record set as read later; null if it was absent or not read.' },
  foundBodyCut: cut,
  beforeBody: {
    ...body,
    description:
      'The record set before the write, or before a change outside Corral; null if it was absent or is not known.',
  },
  beforeBodyCut: cut,
  afterBody: {
    ...body,
    description: 'With `completed`: the record set as the write left it; null if it was deleted or is not known.',
  },
  afterBodyCut: cut,
  foundApplied: { type: ['boolean', 'null'], description: 'With `settled`: whether the write took effect.' },
  count: {
    type: 'integer',
    minimum: 1,
    description:
      'Number of writes in this entry. With `unsent`, all writes of one minute with the same token, name, type, operation and code.',
  },
  refusalCode: { ...optionalText, description: 'With `unsent`: the error code that clients received.' },
  completedAt: {
    ...optionalTime,
    description: 'When the outcome became known; for several writes, that of the last one.',
  },
});

export const auditActorSchema = exactly({
  kind: { enum: auditActorKinds },
  id: { ...optionalText, description: 'Id of the token or service account, or number of the user.' },
  name: {
    ...optionalText,
    description: 'The name of the token, service account or operator; the user’s e-mail address.',
  },
});

export const auditEntrySchema = exactly({
  id: filled,
  kind: { enum: auditKinds },
  action: { ...filled, description: 'Such as `cluster.delete` or `dns.set_records`.' },
  outcome: { enum: auditOutcomes },
  actor: auditActorSchema,
  target: exactly({ kind: filled, id: filled, name: text }),
  requestId: { ...optionalText, description: 'The same as `X-Correlation-Id` of the answer.' },
  changes: {
    anyOf: [fieldChangesSchema, { type: 'null' }],
    description: 'Changed fields, with their values before and after; null for an action that changes none.',
  },
  detail: { type: 'object', description: 'Further details, depending on the action. Never contains a secret.' },
  dns: { anyOf: [dnsSchema, { type: 'null' }], description: 'Details of a DNS write; null for all other actions.' },
  createdAt: time,
});
export type AuditEntryBody = FromSchema<typeof auditEntrySchema>;
export type DnsAuditBody = FromSchema<typeof dnsSchema>;
