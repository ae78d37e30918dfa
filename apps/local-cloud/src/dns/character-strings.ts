const quoted = /"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"/uy;

/**
 * Reads zone-file text of double-quoted strings separated by single spaces: `"one" "two"`.
 *
 * @returns the bytes of each string, or null when the text is not of that form or a string exceeds 255 bytes
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

/** RFC 1035 section 5.1: `\DDD` is the byte of that number, `\X` is X. */
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
