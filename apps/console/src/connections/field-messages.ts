import { isProblem } from '../api/problem.js';

/** What the API says about fields of a refused request, as sentences, by JSON pointer. */
export function fieldMessages(error: unknown): Readonly<Record<string, string>> {
  if (!isProblem(error)) return {};
  return Object.fromEntries(error.fields.map(({ pointer, message }) => [pointer, `It ${message}.`]));
}
