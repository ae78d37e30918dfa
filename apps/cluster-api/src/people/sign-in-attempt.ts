import { clusterLimits } from '@corral/contracts';
import type { KeyRing } from '@corral/secrets';

/** What must be stored of a sign-in while the browser is at the identity provider. */
export interface SignInAttempt {
  /** Must be in the provider's ID token, so that a token of another attempt is rejected. */
  readonly nonce: string;
  /** Proves to the provider that the code is redeemed by the party that requested it (RFC 7636). */
  readonly codeVerifier: string;
  /** A path on the service's own origin. */
  readonly returnTo: string;
  /** Unix time in ms. */
  readonly startedAt: number;
}

export const ATTEMPT_MS_MAX = clusterLimits.signInMinutesMax * 60_000;

/**
 * Encrypts an attempt for storage in the browser, which can neither read nor change it, nor use it for another state.
 */
export function sealAttempt(ring: KeyRing, state: string, attempt: SignInAttempt): string {
  const { keyId, bytes } = ring.seal(JSON.stringify(attempt), ownerOf(state));
  return `${keyId}.${Buffer.from(bytes).toString('base64url')}`;
}

/** @returns null when the text was not sealed for this state or has expired */
export function openAttempt(ring: KeyRing, state: string, text: string, now: number): SignInAttempt | null {
  const dot = text.lastIndexOf('.');
  if (dot === -1) return null;
  const bytes = Buffer.from(text.slice(dot + 1), 'base64url');
  const opened = ring.openOrNull({ keyId: text.slice(0, dot), bytes }, ownerOf(state));
  if (opened === null) return null;
  const attempt: SignInAttempt = JSON.parse(opened);
  return now - attempt.startedAt < ATTEMPT_MS_MAX ? attempt : null;
}

const ownerOf = (state: string): string => `sign-in ${state}`;
