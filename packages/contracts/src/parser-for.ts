import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';

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

const options = { strict: true, allowUnionTypes: true } as const;

/** No coercion and no defaults: what passes is what was sent. */
const compilers = compilersFor(options);
/** No coercion, but the defaults of the schema are filled in. */
const compilersWithDefaults = compilersFor({ ...options, useDefaults: true });

/** The first stops at the first wrong place, and looks how much there is before it looks at what it is; the other goes on. */
interface Compilers {
  readonly first: Ajv;
  readonly all: Ajv;
}

function compilersFor(given: Options): Compilers {
  return { first: new Ajv(given), all: new Ajv({ ...given, allErrors: true }) };
}

/** Enough to mend a body by. */
const fieldsMax = 20;
/** What a body may have for all its wrong places to be looked for: of a larger one the first is told. */
const explained = { entries: 4_000, characters: 65_536 };
/** Of members that a client made up. */
const pointerCharacters = 256;

/**
 * Makes a schema a function that hands back its argument, typed, or throws `InvalidBody`.
 * Unknown fields are left where they are. `T` is the type inferred from the same schema.
 */
export function parserFor<T>(schema: object): (body: unknown) => T {
  const check = checkerOf<T>(compilers, schema);
  return (body) => {
    check(body);
    return body as T;
  };
}

/**
 * As `parserFor`, but for bodies that are wholly ours: hands back a copy with the schema's defaults filled in. A member that
 * is null where the schema knows no null is one that is absent. That unknown fields are refused is for the schema to say.
 */
export function strictParserFor<T>(schema: object): (body: unknown) => T {
  const check = checkerOf<T>(compilersWithDefaults, schema);
  return (body) => {
    const copy: unknown = structuredClone(body);
    dropNulls(copy, schema);
    check(copy);
    return copy as T;
  };
}

/** What of a schema says where null is a value of its own. */
interface NullableSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly NullableSchema[];
  readonly properties?: Readonly<Record<string, NullableSchema>>;
  readonly additionalProperties?: boolean | NullableSchema;
  readonly items?: NullableSchema;
}

/** Whether null is a value of its own, and not only another word for absent. */
export function admitsNull({ type = [], enum: values = [], anyOf = [] }: NullableSchema): boolean {
  return [type].flat().includes('null') || values.includes(null) || anyOf.some(admitsNull);
}

function dropNulls(value: unknown, schema: NullableSchema): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const each of value) dropNulls(each, items);
  } else if (typeof value === 'object' && value !== null) {
    const members = value as Record<string, unknown>;
    for (const name of Object.keys(members)) {
      const member = memberSchema(schema, name);
      if (member === null) continue;
      if (members[name] === null && !admitsNull(member)) delete members[name];
      else dropNulls(members[name], member);
    }
  }
}

function memberSchema({ properties = {}, additionalProperties }: NullableSchema, name: string): NullableSchema | null {
  if (Object.hasOwn(properties, name)) return properties[name] as NullableSchema;
  return typeof additionalProperties === 'object' ? additionalProperties : null;
}

/** Two looks at a wrong body: a bounded one that tells whether the second, at all its wrong places, is bounded as well. */
function checkerOf<T>({ first, all }: Compilers, schema: object): (body: unknown) => void {
  const validateFirst = compiledOnce<T>(first, schema);
  const validateAll = compiledOnce<T>(all, schema);
  return (body) => {
    const validate = validateFirst();
    if (validate(body)) return;
    const tooMany = validate.errors?.some(({ keyword }) => keyword === 'maxItems' || keyword === 'maxProperties');
    if (tooMany || !isExplained(body)) throw new InvalidBody(fieldsOf(validate));
    const validateAgain = validateAll();
    validateAgain(body);
    throw new InvalidBody(fieldsOf(validateAgain));
  };
}

function isExplained(body: unknown): boolean {
  let { entries, characters } = explained;
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

/** At its first use: to compile all schemas takes a process longer than all else that it does at its start. */
function compiledOnce<T>(compiler: Ajv, schema: object): () => ValidateFunction<T> {
  let compiled: ValidateFunction<T> | null = null;
  return () => {
    compiled ??= compiler.compile<T>(schema);
    return compiled;
  };
}

function fieldsOf({ errors }: ValidateFunction): InvalidField[] {
  // What is wrong with a name is said once, of the object that has it.
  const places = (errors ?? []).filter(({ propertyName }) => propertyName === undefined);
  return places.slice(0, fieldsMax).map(fieldOf);
}

function fieldOf(error: ErrorObject): InvalidField {
  const { params, keyword } = error;
  const member: string | undefined = params.missingProperty ?? params.additionalProperty;
  const path = member === undefined ? error.instancePath : `${error.instancePath}/${escaped(member)}`;
  const pointer = path.slice(0, pointerCharacters);
  return { name: indexedPath(pointer), pointer, message: messageOf(keyword, params, error.message) };
}

function messageOf(keyword: string, params: ErrorObject['params'], otherwise = 'is not valid'): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'additionalProperties') return 'is not a known field';
  if (keyword === 'propertyNames') return 'has a member whose name is too long';
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
