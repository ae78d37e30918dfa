/* ASN.1 values in DER (X.690), as far as certificates need them. */

/** A value of a type, with parts that are encoded already. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag, ...lengthOf(body.length)), body]);
}

/** In as few bytes as it needs. */
function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);

/** @param encoded the content in hexadecimal digits */
export const oid = (encoded: string): Buffer => der(0x06, Buffer.from(encoded, 'hex'));

/** @param unusedBits of the last byte */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Buffer => der(0x03, Buffer.of(unusedBits), bytes);

export const octetString = (content: Uint8Array): Buffer => der(0x04, content);

/** Text as a PrintableString if it is one, else as a UTF8String. */
export const text = (value: string): Buffer =>
  der(/^[A-Za-z0-9 '()+,./:=?-]*$/.test(value) ? 0x13 : 0x0c, Buffer.from(value));

/** RFC 5280, 4.1.2.5: two digits for years before 2050. */
export function time(at: Date): Buffer {
  const digits = `${at.toISOString().replace(/[-:T]|\.\d+Z$/g, '')}Z`;
  return at.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
