import { cutText } from '@corral/contracts';

export interface UnstorableValue {
  /** JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly message: string;
}

/**
 * Finds a JSON value that Postgres cannot store: a text or member name with NUL or half a surrogate pair, or a number
 * that is too large for a double.
 *
 * @returns null when everything can be stored
 */
export function findUnstorable(body: unknown): UnstorableValue | null {
  const left: { value: unknown; pointer: string }[] = [{ value: body, pointer: '' }];
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    const { value, pointer } = place;
    if (typeof value === 'string' && !isText(value))
      return { pointer, message: 'must not contain the character NUL or half of a surrogate pair' };
    if (typeof value === 'number' && !Number.isFinite(value)) return { pointer, message: 'must be a smaller number' };
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      if (!isText(name))
        return {
          pointer,
          message: 'must not have a member whose name contains the character NUL or half of a surrogate pair',
        };
      left.push({ value: member, pointer: `${pointer}/${escaped(name)}` });
    }
  }
  return null;
}

/** Postgres texts contain no NUL, and half a surrogate pair is not valid Unicode. */
export const isText = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);
const escaped = (name: string): string => cutText(name, 64).replaceAll('~', '~0').replaceAll('/', '~1');
