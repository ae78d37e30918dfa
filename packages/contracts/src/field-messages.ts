import type { ErrorObject } from 'ajv';
import { namesIn } from './json-pointer.js';
import { sentenceOfPattern } from './text-rules.js';

/*
 * What is said about a field that does not match its schema. Each text ends a sentence that begins with the name of the field, says what
 * to do, and has no full stop at its end.
 */

/** The keywords of a schema that the sentences are made of. */
interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly maxLength?: number;
}

/** An error of ajv with the option `verbose`. */
export type FieldError = Pick<ErrorObject, 'keyword' | 'params' | 'parentSchema' | 'schema'>;

const ofKeyword: Readonly<Record<string, (error: FieldError) => string>> = {
  type: ({ parentSchema }) => `must be ${kindOf(parentSchema as FieldSchema)}`,
  minimum: ({ parentSchema }) => `must be ${kindOf(parentSchema as FieldSchema)}`,
  maximum: ({ parentSchema }) => `must be ${kindOf(parentSchema as FieldSchema)}`,
  minLength: ({ params }) =>
    params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`,
  maxLength: ({ params }) => `must have at most ${params.limit} characters`,
  pattern: ({ params }) => sentenceOfPattern(params.pattern) ?? 'must have another form',
  minItems: ({ params }) => `must have at least ${counted(params.limit, 'item')}`,
  maxItems: ({ params }) => `must have at most ${counted(params.limit, 'item')}`,
  uniqueItems: () => 'must not have the same item twice',
  maxProperties: ({ params }) => `must have at most ${counted(params.limit, 'member')}`,
  propertyNames: ({ schema }) => `has a member whose name ${ruleOf(schema as FieldSchema)}`,
  required: () => 'is required',
  additionalProperties: () => 'is not a known field: check its spelling, or leave it out',
  enum: ({ params }) => `must be ${oneOf(params.allowedValues)}`,
  const: ({ params }) => `must be ${oneOf([params.allowedValue])}`,
};

/** The keywords with a sentence. A schema of a request uses no others that can fail. */
export const keywordsWithSentence: readonly string[] = Object.keys(ofKeyword);

export const messageOf = (error: FieldError): string => ofKeyword[error.keyword]?.(error) ?? 'must have another form';

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** Names the values of a field, such as `a whole number from 1 to 365 or null`. */
function kindOf(schema: FieldSchema): string {
  const words = [schema.type ?? []].flat().map((type) => kinds[type] ?? numberOf(type, schema));
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function numberOf(type: string, { minimum, maximum }: FieldSchema): string {
  const what = type === 'integer' ? 'a whole number' : 'a number';
  if (minimum === undefined) return maximum === undefined ? what : `${what} of at most ${maximum}`;
  return maximum === undefined ? `${what} of at least ${minimum}` : `${what} from ${minimum} to ${maximum}`;
}

/** The rule of member names, which have a length and may have a pattern. */
function ruleOf({ pattern, maxLength }: FieldSchema): string {
  const parts = [
    ...(pattern === undefined ? [] : [sentenceOfPattern(pattern) ?? 'must have another form']),
    ...(maxLength === undefined ? [] : [`must have at most ${maxLength} characters`]),
  ];
  return parts.join(', and ');
}

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? String(values[0]) : `one of ${values.map(String).join(', ')}`;

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/**
 * How sentences name a place in a body: `spec.nodePools[0].machineType` for `/spec/nodePools/0/machineType`.
 *
 * @param pointer JSON pointer (RFC 6901)
 * @returns empty for the body itself
 */
export const placeOf = (pointer: string): string =>
  namesIn(pointer)
    .map((part, index) => (/^\d+$/.test(part) ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
