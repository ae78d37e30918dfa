const STRING_BYTES_MAX = 255;

/**
 * The value of a TXT record in the form that the API takes: quoted strings of at most 255 bytes (RFC 1035 section 3.3.14). A
 * value that begins with a quote is in that form already.
 */
export function quotedText(text: string): string {
  if (text.startsWith('"')) return text;
  const strings: string[] = [''];
  let bytes = 0;
  for (const character of text) {
    const size = Buffer.byteLength(character);
    if (bytes + size > STRING_BYTES_MAX) {
      strings.push('');
      bytes = 0;
    }
    bytes += size;
    strings[strings.length - 1] += character === '"' || character === '\\' ? `\\${character}` : character;
  }
  return strings.map((string) => `"${string}"`).join(' ');
}
