import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';

/** One wrong place in a body: where, as an indexed path such as `records[0].value`, and what is wrong with it. */
export interface InvalidField {
  readonly name: string;
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

/** Enough to mend a body by; a hostile one with a million wrong places is not worth listing. */
const fieldsMax = 20;

/**
 * Compiles a schema once into a function that hands back its argument, typed, or throws `InvalidBody`.
 * Unknown fields are left where they are. `T` is the type inferred from the same schema.
 */
export function parserFor<T>(schema: object): (body: unknown) => T {
  const validate: ValidateFunction<T> = ajv.compile<T>(schema);
  return (body) => {
    if (validate(body)) return body;
    throw new InvalidBody((validate.errors ?? []).slice(0, fieldsMax).map(fieldOf));
  };
}

function fieldOf(error: ErrorObject): InvalidField {
  const parent = indexedPath(error.instancePath);
  const missing = error.keyword === 'required' ? (error.params as { missingProperty: string }).missingProperty : null;
  if (missing !== null) return { name: parent === '' ? missing : `${parent}.${missing}`, message: 'is required' };
  return { name: parent, message: error.message ?? 'is not valid' };
}

/** `/records/0/value` becomes `records[0].value`, the way the upstream names fields. */
function indexedPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part, index) => (/^\d+$/.test(part) ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}
