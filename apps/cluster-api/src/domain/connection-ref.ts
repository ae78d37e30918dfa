import { randomInt } from 'node:crypto';

/** Without letters that are read as digits, or the other way round. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** The ref of a connection that was made without one: `conn-` and 8 characters, 8.5 × 10^11 of them. */
export function makeConnectionRef(): string {
  return `conn-${Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')}`;
}
