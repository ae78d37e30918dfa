import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';

/** One wrong place in a body, and what is wrong with it. */
export interface InvalidField {
  /** An indexed path such as `records[0].value`; empty for the body itself. */
  readonly name: string;
  /** The same place as a JSON pointer (RFC 6901), such as `/records/0/value`. */
  readonly pointer: string;
  readonly message: string;
}

/** A body that does not fit its schema. `fields` names every wrong place; it never quotes what was sent. */
export class InvalidBody extends Error {
  override readonly name = 'InvalidBody';
  constructor(readonly fields: readonly InvalidField[]) {
    super(fields.map((field) => `${field.name || 'body'} ${field.message}`).join('; '));
  }
}

/** No coercion and no defaults: what passes is what was sent. */
const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
/** No coercion, but the defaults of the schema are filled in. */
const ajvWithDefaults = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true, useDefaults: true });

/** Enough to mend a body by; a hostile one with a million wrong places is not worth listing. */
const fieldsMax = 20;

/**
 * Makes a schema a function that hands back its argument, typed, or throws `InvalidBody`.
 * Unknown fields are left where they are. `T` is the type inferred from the same schema.
 */
export function parserFor<T>(schema: object): (body: unknown) => T {
  const validator = compiledOnce<T>(ajv, schema);
  return (body) => {
    const validate = validator();
    if (validate(body)) return body;
    throw new InvalidBody(fieldsOf(validate));
  };
}

/**
 * As `parserFor`, but for bodies that are wholly ours: hands back a copy with the schema's defaults filled in. That
 * unknown fields are refused is for the schema to say.
 */
export function strictParserFor<T>(schema: object): (body: unknown) => T {
  const validator = compiledOnce<T>(ajvWithDefaults, schema);
  return (body) => {
    const validate = validator();
    const copy: unknown = structuredClone(body);
    if (validate(copy)) return copy;
    throw new InvalidBody(fieldsOf(validate));
  };
}

/** At its first use: to compile all schemas takes a process longer than all else that it does at its start. */
function compiledOnce<T>(compiler: Ajv, schema: object): () => ValidateFunction<T> {
  let compiled: ValidateFunction<T> | null = null;
  return () => {
    compiled ??= compiler.compile<T>(schema);
    return compiled;
  };
}

const fieldsOf = (validate: ValidateFunction): InvalidField[] =>
  (validate.errors ?? []).slice(0, fieldsMax).map(fieldOf);

function fieldOf(error: ErrorObject): InvalidField {
  const { params, keyword } = error;
  const member: string | undefined = params.missingProperty ?? params.additionalProperty;
  const pointer = member === undefined ? error.instancePath : `${error.instancePath}/${escaped(member)}`;
  return { name: indexedPath(pointer), pointer, message: messageOf(keyword, params, error.message) };
}

function messageOf(keyword: string, params: ErrorObject['params'], otherwise = 'is not valid'): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'additionalProperties') return 'is not a known field';
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).map(String).join(', ')}`;
  return otherwise;
}

const escaped = (member: string): string => member.replaceAll('~', '~0').replaceAll('/', '~1');

/** `/records/0/value` becomes `records[0].value`, the way the upstream names fields. */
function indexedPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part, index) => (/^\d+$/.test(part) ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}
