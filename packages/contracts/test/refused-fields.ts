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
