import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SignatureRules {
  /** Any of them may have signed, which allows rotation. */
  readonly secrets: readonly string[];
  readonly now: Date;
  /** Largest difference of the signed time from `now`, in either direction. */
  readonly toleranceSeconds: number;
}

const DIGEST_BYTES = 32;
/** Further signatures are ignored: rotating secrets needs only a few. */
const SIGNATURES_MAX = 8;

/**
 * Whether a body was recently signed with one of the secrets.
 *
 * The header is `t=<Unix time in seconds>,v1=<hex>`, with one `v1` per signature: HMAC-SHA256 over the time, a full
 * stop and the bytes of the body (the scheme of https://docs.stripe.com/webhooks#verify-manually). Other parts are
 * ignored, so a later scheme can be sent alongside.
 */
export function isSignedBody(header: string | undefined, body: Buffer, rules: SignatureRules): boolean {
  const { seconds, signatures } = partsOf(header ?? '');
  if (seconds === null) return false;
  if (Math.abs(rules.now.getTime() / 1_000 - Number(seconds)) > rules.toleranceSeconds) return false;
  // Compares all signatures, so the duration does not reveal which one matches.
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
