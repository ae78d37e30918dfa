export interface WrongPlace {
  /** JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly message: string;
}

/**
 * Finds what JSON can say and Postgres cannot keep: texts with NUL or half a surrogate pair, as values or as
 * names; numbers beyond what a double holds.
 *
 * @returns null when all of it can be kept
 */
export function findUnstorable(body: unknown): WrongPlace | null {
  const left: { value: unknown; pointer: string }[] = [{ value: body, pointer: '' }];
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    const { value, pointer } = place;
    if (typeof value === 'string' && !isText(value))
      return { pointer, message: 'contains a character that is not allowed' };
    if (typeof value === 'number' && !Number.isFinite(value))
      return { pointer, message: 'is a number that is too large' };
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (!isText(name))
        return { pointer, message: 'has a member whose name contains a character that is not allowed' };
      left.push({ value: member, pointer: `${pointer}/${escaped(name)}` });
    }
  }
  return null;
}

/** Postgres has no NUL in texts, and half a surrogate pair is no text at all. */
export const isText = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);
const escaped = (name: string): string => name.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1');
