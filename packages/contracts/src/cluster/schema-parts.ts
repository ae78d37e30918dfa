import type { JSONSchema } from 'json-schema-to-ts';
import { uuidPattern } from '../ids.js';
import { exactly } from '../schema-objects.js';
import { textRules } from '../text-rules.js';
import { timeCharacters } from '../time.js';

/* Building blocks of the answer schemas. Every documented field is always present, and no undocumented field is. */

export const time = {
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
} as const;
/** A time that is sent to us, in any form of RFC 3339. */
export const givenTime = {
  type: 'string',
  format: 'date-time',
  maxLength: timeCharacters,
  pattern: textRules.time.pattern,
} as const;
export const optionalTime = { ...time, type: ['string', 'null'] } as const;
export const uuid = { type: 'string', format: 'uuid', pattern: uuidPattern } as const;
/** An address of a person, with which they sign in or are invited. */
export const email = { type: 'string', format: 'email', minLength: 1 } as const;
export const text = { type: 'string' } as const;
export const filled = { type: 'string', minLength: 1 } as const;
export const count = { type: 'integer', minimum: 0 } as const;
/** Numeric ids of teams, members and users. */
export const number = { type: 'integer', minimum: 1, maximum: 2_147_483_647 } as const;
/** A net amount as a decimal string, so that clients do not round money; null when the price is unknown. */
export const amount = { type: ['string', 'null'], pattern: '^\\d+(\\.\\d+)?$' } as const;
/**
 * A request member that is compared as a whole and never stored. A wrong one is reported for its meaning, not its form.
 * The limits of the whole body bound its contents.
 */
export const compared = {
  type: ['object', 'array', 'string', 'number', 'boolean', 'null'],
  maxProperties: 100,
  maxItems: 1_000,
  maxLength: 1_000,
} as const;
export interface FieldChange {
  /** JSON pointer (RFC 6901). */
  readonly pointer: string;
  /** Null when absent. */
  readonly from: unknown;
  readonly to: unknown;
  /** The declaration left the field out, so its default replaced the value. */
  readonly byDefault?: true;
}
const fieldChange = exactly({ pointer: text, from: {}, to: {} });
export const fieldChangesSchema = {
  type: 'array',
  items: {
    ...fieldChange,
    properties: {
      ...fieldChange.properties,
      byDefault: { const: true, description: 'The request left the field out, so its default replaced the value.' },
    },
  },
} as const;
/** A user as others of the team see them. */
export const person = exactly({ id: { type: 'integer' }, email, displayName: filled });
export const list = <const I extends JSONSchema>(items: I) =>
  exactly({
    items: { type: 'array', items },
    next: { type: ['string', 'null'], description: 'Cursor of the next page.' },
  });
