import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SignatureRules {
  /** Any of them may have signed, so that they can be exchanged one after the other. */
  readonly secrets: readonly string[];
  readonly now: Date;
  /** How far the signed time may be from ours, either way. */
  readonly toleranceSeconds: number;
}

const DIGEST_BYTES = 32;
/** More are no rotation of secrets. */
const SIGNATURES_MAX = 8;

/**
 * Whether a body was signed by somebody who knows one of the secrets, a moment ago.
 *
 * The header is `t=<Unix time in seconds>,v1=<hex>`, with `v1` as often as there are signatures: HMAC-SHA256 over the time, a
 * full stop and the bytes of the body (the scheme of https://docs.stripe.com/webhooks#verify-manually). Other parts are
 * passed over, so that a later scheme can be sent beside this one.
 */
export function isSignedBody(header: string | undefined, body: Buffer, rules: SignatureRules): boolean {
  const { seconds, signatures } = partsOf(header ?? '');
  if (seconds === null) return false;
  if (Math.abs(rules.now.getTime() / 1_000 - Number(seconds)) > rules.toleranceSeconds) return false;
  // All are compared, whatever comes of the first: the time says nothing about which one fits.
  let holds = false;
  for (const secret of rules.secrets) {
    const expected = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest();
    for (const signature of signatures) holds = timingSafeEqual(signature, expected) || holds;
  }
  return holds;
}

function partsOf(header: string): { seconds: string | null; signatures: Buffer[] } {
  const parts = header.split(',').map((part) => part.trim());
  const times = parts.filter((part) => /^t=\d{1,12}$/.test(part)).map((part) => part.slice(2));
  const signatures = parts
    .filter((part) => /^v1=[0-9a-f]{64}$/.test(part))
    .slice(0, SIGNATURES_MAX)
    .map((part) => Buffer.from(part.slice(3), 'hex'))
    .filter(({ length }) => length === DIGEST_BYTES);
  return { seconds: times.length === 1 ? (times[0] as string) : null, signatures };
}
