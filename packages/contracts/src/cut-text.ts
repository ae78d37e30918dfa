/**
 * The first characters of a text, and never half of one: Postgres stores no half of a surrogate pair, and strict parsers of
 * JSON read none.
 *
 * @param charactersMax Unicode code points, as Postgres and JSON Schema count
 * @param end what a text that was cut ends with, within `charactersMax`
 */
export function cutText(text: string, charactersMax: number, end = ''): string {
  if (text.length <= charactersMax) return text;
  // Enough for one character more than allowed, each of two code units.
  const characters = [...text.slice(0, 2 * (charactersMax + 1))];
  if (characters.length <= charactersMax) return text;
  return characters.slice(0, charactersMax - [...end].length).join('') + end;
}

/** Control characters and halves of surrogate pairs. */
const unstorable = /[\p{Cc}\p{Surrogate}]/gu;

/**
 * The start of a text from outside, in a form that can be stored and fits in a line.
 *
 * @param charactersMax Unicode code points
 * @param replacement of a character that cannot be stored
 */
export const storableText = (text: string, charactersMax: number, replacement = ' '): string =>
  cutText(text, charactersMax).replaceAll(unstorable, replacement);
