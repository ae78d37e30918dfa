import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { parserFor } from '../parser-for.js';
import { textRules } from '../text-rules.js';
import { expiresLabel } from './expiry.js';
import { dnsLimits } from './limits.js';

/*
 * Request bodies, parsed tolerantly. Unknown fields pass through to the upstream, which may support them; demo bodies
 * are ours, and unknown fields there are ignored. `null` means absent where clients of the upstream send it (`ttl`,
 * `comment`, `labels`).
 */

const ttlSchema = {
  type: ['integer', 'null'],
  minimum: 0,
  description: 'Seconds. If absent or null, the zone’s default applies. The upstream checks the maximum.',
} as const satisfies JSONSchema;

export const recordSchema = {
  type: 'object',
  required: ['value'],
  properties: {
    value: { type: 'string', minLength: 1, maxLength: dnsLimits.valueCharacters },
    comment: { type: ['string', 'null'], maxLength: dnsLimits.commentCharacters },
  },
} as const satisfies JSONSchema;

const recordsSchema = {
  type: 'array',
  minItems: 1,
  maxItems: dnsLimits.recordsPerRequest,
  items: recordSchema,
  description: `1 to ${dnsLimits.recordsPerRrset} records with distinct values.`,
} as const satisfies JSONSchema;

/** Adds the label that is checked. In the type of the parsed body all labels stay texts. */
const withEnd = <S extends object>(labels: S): S => ({
  ...labels,
  properties: {
    [expiresLabel]: {
      type: 'string',
      maxLength: dnsLimits.labelValueCharacters,
      pattern: textRules.expires.pattern,
      description:
        'When Corral deletes the set: a duration since its last change, such as `14d`, or a time, such as `2026-12-31`.',
    },
  },
});

const labelsSchema = withEnd({
  type: ['object', 'null'],
  maxProperties: dnsLimits.labelsPerRrset,
  propertyNames: { maxLength: dnsLimits.labelKeyCharacters },
  additionalProperties: { type: 'string', maxLength: dnsLimits.labelValueCharacters },
} as const satisfies JSONSchema);

export const createRrsetSchema = {
  type: 'object',
  required: ['name', 'type', 'records'],
  properties: {
    name: { type: 'string', maxLength: dnsLimits.identityCharacters },
    type: { type: 'string', maxLength: dnsLimits.identityCharacters },
    ttl: ttlSchema,
    labels: labelsSchema,
    records: recordsSchema,
  },
} as const satisfies JSONSchema;

export const recordsBodySchema = {
  type: 'object',
  required: ['records'],
  properties: { records: recordsSchema },
} as const satisfies JSONSchema;

export const addRecordsSchema = {
  type: 'object',
  required: ['records'],
  properties: { records: recordsSchema, ttl: ttlSchema },
} as const satisfies JSONSchema;

export const changeTtlSchema = {
  type: 'object',
  required: ['ttl'],
  properties: { ttl: ttlSchema },
} as const satisfies JSONSchema;

/** `records` is not listed, so that the upstream rejects it itself. */
export const updateRrsetSchema = { type: 'object', properties: { labels: labelsSchema } } as const satisfies JSONSchema;

export const createDemoSchema = {
  type: 'object',
  properties: {
    name: {
      type: ['string', 'null'],
      minLength: 1,
      maxLength: dnsLimits.demoNameCharacters,
      pattern: textRules.shownName.pattern,
      description: 'The label is made from it: lower-case letters, digits and hyphens. If absent, the label is random.',
    },
    ttl: {
      type: ['integer', 'null'],
      minimum: dnsLimits.demoTtlSecondsMin,
      maximum: dnsLimits.demoTtlSecondsMax,
      description: `Seconds until the demo expires. Default: ${dnsLimits.demoTtlSecondsDefault}.`,
    },
    course_code: {
      type: ['string', 'null'],
      maxLength: dnsLimits.courseCodeCharactersRead,
      description: 'Replaces the token. Ignored if the request has a token.',
    },
  },
} as const satisfies JSONSchema;

export const extendDemoSchema = {
  type: 'object',
  required: ['ttl'],
  properties: {
    ttl: {
      type: 'integer',
      minimum: dnsLimits.demoTtlSecondsMin,
      maximum: dnsLimits.demoTtlSecondsMax,
      description: 'Seconds from now until the demo expires. A demo ends at most 7 days after its creation.',
    },
  },
} as const satisfies JSONSchema;

export type RequestRecord = FromSchema<typeof recordSchema>;
export type CreateRrset = FromSchema<typeof createRrsetSchema>;
export type RecordsBody = FromSchema<typeof recordsBodySchema>;
export type AddRecords = FromSchema<typeof addRecordsSchema>;
export type ChangeTtl = FromSchema<typeof changeTtlSchema>;
export type UpdateRrset = FromSchema<typeof updateRrsetSchema>;

export type CreateDemo = FromSchema<typeof createDemoSchema>;
export type ExtendDemo = FromSchema<typeof extendDemoSchema>;

export const parseCreateRrset = parserFor<CreateRrset>(createRrsetSchema);
export const parseRecordsBody = parserFor<RecordsBody>(recordsBodySchema);
export const parseAddRecords = parserFor<AddRecords>(addRecordsSchema);
export const parseChangeTtl = parserFor<ChangeTtl>(changeTtlSchema);
export const parseUpdateRrset = parserFor<UpdateRrset>(updateRrsetSchema);
export const parseCreateDemo = parserFor<CreateDemo>(createDemoSchema);
export const parseExtendDemo = parserFor<ExtendDemo>(extendDemoSchema);
