/**
 * Decodes the bytes of a file. Nothing is replaced: a wrong letter in a record would be found by nobody.
 *
 * @param encoding a label of the Encoding Standard, such as `latin1` or `utf-16le`
 * @returns the text, or the first line that is not in this encoding
 * @throws RangeError for a label that is unknown
 */
export function decodeZoneFile(bytes: Uint8Array, encoding = 'utf-8'): string | { readonly line: number } {
  const exact = new TextDecoder(encoding, { fatal: true });
  try {
    return exact.decode(bytes);
  } catch {
    const [readable = ''] = new TextDecoder(encoding).decode(bytes).split('\uFFFD', 1);
    return { line: readable.split(/\r\n|\r|\n/).length };
  }
}
