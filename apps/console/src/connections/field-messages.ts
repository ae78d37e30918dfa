import { isCorralError } from '@corral/client';

/** What the API says about fields of a refused request, as sentences, by JSON pointer. */
export function fieldMessages(error: unknown): Readonly<Record<string, string>> {
  if (!isCorralError(error)) return {};
  return Object.fromEntries(error.errors.map(({ pointer, message }) => [pointer, `It ${message}.`]));
}
