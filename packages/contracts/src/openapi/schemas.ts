/* How the schemas of bodies stand in an OpenAPI document: named once, and with a reference wherever the same stands. */

import { admitsNull, isObject } from '../parser-for.js';

/** A schema as far as the document changes it. Other keywords pass unchanged. */
interface BodySchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly BodySchema[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly additionalProperties?: boolean | BodySchema;
  readonly items?: BodySchema;
  readonly default?: unknown;
  readonly description?: string;
  readonly $ref?: string;
}
type Named = Readonly<Record<string, object>>;

/** Schemas by the name under which the document shows them. `shared` are the same in requests and answers. */
export interface NamedSchemas {
  readonly shared: Named;
  readonly requests: Named;
  readonly answers: Named;
  /** One of an answer, by its name. */
  readonly examples: Readonly<Record<string, object>>;
  /** Whether null means absent in requests: optional members then accept it. */
  readonly nullMeansAbsent: boolean;
}

export interface DocumentSchemas {
  readonly request: (schema: object) => object;
  readonly answer: (schema: object) => object;
  /** The section `components/schemas`. */
  readonly components: Readonly<Record<string, object>>;
}

const annotations = ['title', 'description', 'default', 'examples', 'readOnly', 'writeOnly'];
const jsonTypes = ['object', 'array', 'string', 'number', 'boolean', 'null'];

/**
 * Renders the schemas of a document. A schema equal to a named one becomes a reference, with its own description, and
 * with null if it adds that. Answers may have further members: they are checked for unlisted ones by our tests only.
 *
 * @throws Error when two names stand for the same schema
 */
export function documentSchemas(named: NamedSchemas): DocumentSchemas {
  const { shared, requests, answers, examples, nullMeansAbsent } = named;
  const request = renderer({ ...shared, ...requests }, { isRequest: true, nullMeansAbsent });
  const answer = renderer({ ...shared, ...answers }, { isRequest: false, nullMeansAbsent: false });
  const rendered = (schemas: Named, render: Render) =>
    Object.entries(schemas).map(([name, schema]) => [name, withExample(render(schema, name), examples[name])] as const);
  return {
    request,
    answer,
    components: Object.fromEntries([
      ...rendered(shared, answer),
      ...rendered(answers, answer),
      ...rendered(requests, request),
    ]),
  };
}

const withExample = (schema: object, example: object | undefined): object =>
  example === undefined ? schema : { ...schema, examples: [example] };

/** @param own the name of a component, which is not a reference to itself */
type Render = (schema: BodySchema, own?: string) => object;

function renderer(named: Named, side: { isRequest: boolean; nullMeansAbsent: boolean }): Render {
  const nameOf = new Map<string, string>();
  for (const [name, schema] of Object.entries(named)) {
    const key = constraintsOf(schema);
    const other = nameOf.get(key);
    if (other !== undefined) throw new Error(`The schemas ${other} and ${name} are the same`);
    nameOf.set(key, name);
  }
  const render: Render = (schema, own) => {
    const name = nameOf.get(constraintsOf(schema));
    if (name !== undefined && name !== own) return reference(name, schema);
    return inlined(own === undefined ? withConst(schema) : schema);
  };
  const reference = (name: string, schema: BodySchema): object => {
    const component = named[name] as BodySchema;
    const ref = { $ref: `#/components/schemas/${name}` };
    const isNullable = admitsNull(schema) && !admitsNull(component);
    return { ...(isNullable ? orNull(ref) : ref), ...annotationsOf(schema, component) };
  };
  const member = (schema: BodySchema, isOptional: boolean): object => {
    const rendered = render(schema);
    return side.nullMeansAbsent && isOptional ? orNull(rendered) : rendered;
  };
  const inlined = (schema: BodySchema): object => {
    const { properties, items, anyOf, additionalProperties: others, required = [] } = schema;
    const { additionalProperties: _others, ...otherKeywords } = withDefault(typed(schema), side.isRequest);
    const types = [otherKeywords.type].flat();
    const isOpen = properties === undefined && types.includes('object');
    return {
      ...otherKeywords,
      ...(anyOf === undefined ? {} : { anyOf: anyOf.map((one) => render(one)) }),
      ...(items === undefined ? {} : { items: render(items) }),
      ...(properties === undefined ? {} : { properties: mapped(properties, required, member) }),
      ...(typeof others === 'object' ? { additionalProperties: render(others) } : {}),
      ...(others === false && side.isRequest ? { additionalProperties: false } : {}),
      // Said explicitly, because generators take an object without members for one that must be empty.
      ...(others === undefined && isOpen ? { additionalProperties: true } : {}),
      ...(items === undefined && types.includes('array') ? { items: {} } : {}),
    };
  };
  return render;
}

const mapped = (
  properties: Readonly<Record<string, BodySchema>>,
  required: readonly string[],
  member: (schema: BodySchema, isOptional: boolean) => object,
): object =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, member(schema, !required.includes(name))]),
  );

/** What a schema demands, apart from what it says about itself and from null: equal for equal schemas. */
function constraintsOf(schema: BodySchema): string {
  const keywords = Object.entries(schema).filter(([keyword]) => !annotations.includes(keyword));
  const withoutNull = keywords.map(([keyword, value]) => {
    if (keyword === 'type' && Array.isArray(value)) return [keyword, unlisted(value, 'null')];
    return keyword === 'enum' ? [keyword, unlisted(value as unknown[], null)] : [keyword, value];
  });
  return JSON.stringify(withoutNull.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)));
}

function unlisted(values: readonly unknown[], value: unknown): unknown {
  const others = values.filter((each) => each !== value);
  return others.length === 1 && value === 'null' ? others[0] : others;
}

const annotationsOf = (schema: object, component: object): object =>
  Object.fromEntries(
    Object.entries(schema).filter(
      ([keyword, value]) => annotations.includes(keyword) && (component as Record<string, unknown>)[keyword] !== value,
    ),
  );

function orNull(schema: BodySchema): object {
  const { $ref, ...about } = schema;
  if (admitsNull(schema)) return schema;
  if ($ref !== undefined) return { anyOf: [{ $ref }, { type: 'null' }], ...about };
  if (schema.const !== undefined) {
    const { description, ...value } = schema;
    return { anyOf: [value, { type: 'null' }], ...(description === undefined ? {} : { description }) };
  }
  if (schema.anyOf !== undefined) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  const type = schema.type === undefined ? undefined : [...[schema.type].flat(), 'null'];
  if (schema.enum !== undefined) return { ...schema, ...(type ? { type } : {}), enum: [...schema.enum, null] };
  return type === undefined ? schema : { ...schema, type };
}

/** Adds the type of listed values. Leaves the type away where it is any. */
function typed(schema: BodySchema): BodySchema {
  const { type, ...others } = schema;
  if (jsonTypes.every((each) => [type].flat().includes(each))) return others;
  const listed = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (type !== undefined || listed.length === 0) return schema;
  const types = [...new Set(listed.map(typeOf))];
  return { type: types.length === 1 ? (types[0] as string) : types, ...schema };
}

/** A list of one value is that value. A named one stays a list, to which others may be added. */
function withConst(schema: BodySchema): BodySchema {
  const { enum: values, ...others } = schema;
  return values?.length === 1 ? { ...others, const: values[0] } : schema;
}

/**
 * Answers have no defaults. Nor does the document name objects as defaults, which generators of clients do not support:
 * the descriptions say what absence means.
 */
function withDefault(schema: BodySchema, isRequest: boolean): BodySchema {
  const { default: value, ...others } = schema;
  return isRequest && !isObject(value) ? schema : others;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
