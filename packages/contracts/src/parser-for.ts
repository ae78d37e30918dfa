import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { messageOf, placeOf } from './field-messages.js';
import { pointerPart } from './json-pointer.js';
import { cutText } from './text-rules.js';

export type JsonObject = Record<string, unknown>;

/** Whether the value is an object as JSON means it: neither null nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An invalid location in a body, and why it is invalid. */
export interface InvalidField {
  /** Indexed path such as `records[0].value`; empty for the body itself. */
  readonly name: string;
  /** The same location as a JSON pointer (RFC 6901), such as `/records/0/value`. */
  readonly pointer: string;
  readonly message: string;
}

/** A body does not match its schema. `fields` lists the invalid locations and never quotes the input. */
export class InvalidBody extends Error {
  override readonly name = 'InvalidBody';
  constructor(readonly fields: readonly InvalidField[]) {
    super(fields.map((field) => `${field.name || 'body'} ${field.message}`).join('; '));
  }
}

/** Patterns check what the formats say. Formats are for the readers of the documents. `verbose` is for the messages. */
const options = { strict: true, allowUnionTypes: true, validateFormats: false, verbose: true } as const;

/** No coercion and no defaults: the body passes unchanged. */
const compilers = compilersFor(options);
/** No coercion, but fills in the schema's defaults. */
const compilersWithDefaults = compilersFor({ ...options, useDefaults: true });

/** `first` stops at the first error and checks sizes before contents; `all` reports every error. */
interface Compilers {
  readonly first: Ajv;
  readonly all: Ajv;
}

function compilersFor(given: Options): Compilers {
  return { first: new Ajv(given), all: new Ajv({ ...given, allErrors: true }) };
}

/** Enough to correct a body. */
const fieldsMax = 20;
/** Bodies up to this size get all errors reported; larger ones only the first. */
const fullCheckLimits = { entries: 4_000, characters: 65_536 };
/** Bounds pointers with member names chosen by the client. */
const pointerCharacters = 256;

/**
 * Compiles a schema into a function that returns its argument typed, or throws `InvalidBody`. Unknown fields stay.
 * `T` is the type inferred from the same schema.
 */
export function parserFor<T>(schema: object): (body: unknown) => T {
  const check = checkerOf<T>(compilers, schema);
  return (body) => {
    check(body);
    return body as T;
  };
}

/**
 * Reads bodies that are entirely ours, like `parserFor`: returns a copy with the schema's defaults. A null member counts
 * as absent unless the schema allows null. The schema decides whether unknown fields are rejected.
 */
export const strictParserFor = <T>(schema: object): ((body: unknown) => T) =>
  copyingParser(compilersWithDefaults, schema);

/**
 * Reads declarations like `strictParserFor`, without defaults: an absent member may mean that a stored value stays.
 */
export const declarationParserFor = <T>(schema: object): ((body: unknown) => T) => copyingParser(compilers, schema);

function copyingParser<T>(kind: Compilers, schema: object): (body: unknown) => T {
  const check = checkerOf<T>(kind, schema);
  return (body) => {
    const copy = copyOfJson(body);
    dropNulls(copy, schema);
    check(copy);
    return copy as T;
  };
}

const copyOfJson = (body: unknown): unknown => (body === undefined ? body : JSON.parse(JSON.stringify(body)));

/** The parts of a schema that decide where null is a value. */
interface NullableSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly NullableSchema[];
  readonly properties?: Readonly<Record<string, NullableSchema>>;
  readonly additionalProperties?: boolean | NullableSchema;
  readonly items?: NullableSchema;
}

/** Whether null is a value, rather than a synonym for absent. */
export function admitsNull({ type = [], enum: values = [], anyOf = [] }: NullableSchema): boolean {
  return [type].flat().includes('null') || values.includes(null) || anyOf.some(admitsNull);
}

function dropNulls(value: unknown, schema: NullableSchema): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const each of value) dropNulls(each, items);
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const member = memberSchema(schema, name);
      if (member === null) continue;
      if (value[name] === null && !admitsNull(member)) delete value[name];
      else dropNulls(value[name], member);
    }
  }
}

function memberSchema({ properties = {}, additionalProperties }: NullableSchema, name: string): NullableSchema | null {
  if (Object.hasOwn(properties, name)) return properties[name] as NullableSchema;
  return typeof additionalProperties === 'object' ? additionalProperties : null;
}

/** Checks an invalid body twice: a bounded check first, and the complete one only if it is bounded as well. */
function checkerOf<T>({ first, all }: Compilers, schema: object): (body: unknown) => void {
  const validateFirst = compiledOnce<T>(first, schema);
  const validateAll = compiledOnce<T>(all, schema);
  return (body) => {
    const validate = validateFirst();
    if (validate(body)) return;
    const tooMany = validate.errors?.some(({ keyword }) => keyword === 'maxItems' || keyword === 'maxProperties');
    if (tooMany || !isSmallEnough(body)) throw new InvalidBody(fieldsOf(validate));
    const validateAgain = validateAll();
    validateAgain(body);
    throw new InvalidBody(fieldsOf(validateAgain));
  };
}

function isSmallEnough(body: unknown): boolean {
  let { entries, characters } = fullCheckLimits;
  const left = [body];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string') characters -= value.length;
    else if (typeof value === 'object' && value !== null) {
      for (const name in value) {
        left.push((value as Record<string, unknown>)[name]);
        characters -= name.length;
        entries -= 1;
        if (entries < 0) return false;
      }
    }
    if (characters < 0) return false;
  }
  return true;
}

/** Compiles on first use: compiling all schemas would dominate the start-up time of a process. */
function compiledOnce<T>(compiler: Ajv, schema: object): () => ValidateFunction<T> {
  let compiled: ValidateFunction<T> | null = null;
  return () => {
    compiled ??= compiler.compile<T>(schema);
    return compiled;
  };
}

/** One for each place: what is wrong with a field after its first error does not matter until that is corrected. */
function fieldsOf({ errors }: ValidateFunction): InvalidField[] {
  const fields = new Map<string, InvalidField>();
  for (const error of errors ?? []) {
    // An invalid member name is reported once, for the object that has it.
    if (error.propertyName !== undefined) continue;
    const field = fieldOf(error);
    if (!fields.has(field.pointer)) fields.set(field.pointer, field);
    if (fields.size === fieldsMax) break;
  }
  return [...fields.values()];
}

function fieldOf(error: ErrorObject): InvalidField {
  const { params } = error;
  const member: string | undefined = params.missingProperty ?? params.additionalProperty;
  const path = member === undefined ? error.instancePath : `${error.instancePath}/${pointerPart(member)}`;
  const pointer = cutText(path, pointerCharacters);
  return { name: placeOf(pointer), pointer, message: messageOf(error) };
}
