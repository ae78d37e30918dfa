import { InvalidBody, type InvalidField } from '../src/parser-for.js';

/** What a parser refuses. @returns empty when it accepts the body */
export function refusedFields(parse: (body: unknown) => unknown, body: unknown): readonly InvalidField[] {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof InvalidBody) return error.fields;
    throw error;
  }
  return [];
}

/** The keywords of body schemas that tests look at. */
export interface BodySchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly maxProperties?: number;
  readonly items?: BodySchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly propertyNames?: BodySchema;
  readonly additionalProperties?: boolean | BodySchema;
  readonly anyOf?: readonly BodySchema[];
}
