import { isIPv4, isIPv6 } from 'node:net';

const hostLabel = /^(?:\*|[A-Za-z0-9_-]{1,63})$/;

/** `@`, `.`, or labels with an optional final dot. */
function isHost(text: string): boolean {
  if (text === '@' || text === '.') return true;
  if (text.length > 254) return false;
  const labels = (text.endsWith('.') ? text.slice(0, -1) : text).split('.');
  return labels.every((part) => hostLabel.test(part));
}

const checks: Readonly<Record<string, (value: string) => boolean>> = {
  A: isIPv4,
  AAAA: (value) => isIPv6(value) && !value.includes('%'),
  CNAME: isHost,
  NS: isHost,
  TXT: (value) => parseCharacterStrings(value) !== null,
};

/** Whether the text is a valid value of the type in zone-file form. Only the types above are checked. */
export const isRecordValue = (type: string, value: string): boolean => checks[type]?.(value) ?? true;

const quoted = /"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"/uy;

/**
 * Reads zone-file text of double-quoted strings separated by single spaces: `"one" "two"`.
 *
 * @returns the bytes of each string, or null if the text does not have that form or a string exceeds 255 bytes
 */
export function parseCharacterStrings(text: string): Buffer[] | null {
  const strings: Buffer[] = [];
  let position = 0;
  for (;;) {
    quoted.lastIndex = position;
    const match = quoted.exec(text);
    if (match === null) return null;
    const bytes = unescapeBytes(match[1] ?? '');
    if (bytes === null || bytes.length > 255) return null;
    strings.push(bytes);
    position = quoted.lastIndex;
    if (position === text.length) return strings;
    if (text[position] !== ' ') return null;
    position += 1;
  }
}

/** RFC 1035 section 5.1: `\DDD` is the byte with that decimal value, `\X` is X. */
function unescapeBytes(text: string): Buffer | null {
  const parts: Buffer[] = [];
  for (const [piece] of text.matchAll(/\\\d{3}|\\.|[^\\]+/gu)) {
    if (!piece.startsWith('\\')) parts.push(Buffer.from(piece));
    else if (piece.length === 4 && /\d{3}$/.test(piece)) {
      const byte = Number(piece.slice(1));
      if (byte > 255) return null;
      parts.push(Buffer.from([byte]));
    } else parts.push(Buffer.from(piece.slice(1)));
  }
  return Buffer.concat(parts);
}
