/* Parts of JSON pointers (RFC 6901, section 3). */

/** A name as a part of a pointer. */
export const pointerPart = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The names in a pointer, from the outside in. None for the whole document. */
export const namesIn = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
