/** A key that makes a repeated POST safe. `crypto.randomUUID` exists in secure contexts only. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
