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
export const sealAttempt = (ring: KeyRing, state: string, attempt: SignInAttempt): string =>
  sealForBrowser(ring, ownerOf(state), attempt);

/** @returns null when the text was not sealed for this state or has expired */
export function openAttempt(ring: KeyRing, state: string, text: string, now: number): SignInAttempt | null {
  return openFromBrowser<SignInAttempt>(ring, ownerOf(state), text, now);
}

const ownerOf = (state: string): string => `sign-in ${state}`;

interface Dated {
  /** Unix time in ms. */
  readonly startedAt: number;
}

/** Encrypts a value for storage in a browser. @param owner what it is for: it opens for nothing else */
export function sealForBrowser(ring: KeyRing, owner: string, value: Dated): string {
  const { keyId, bytes } = ring.seal(JSON.stringify(value), owner);
  return `${keyId}.${Buffer.from(bytes).toString('base64url')}`;
}

/** @returns null when the text was not sealed for this owner, or more than 10 minutes ago */
export function openFromBrowser<T extends Dated>(ring: KeyRing, owner: string, text: string, now: number): T | null {
  const dot = text.lastIndexOf('.');
  if (dot === -1) return null;
  const bytes = Buffer.from(text.slice(dot + 1), 'base64url');
  const opened = ring.openOrNull({ keyId: text.slice(0, dot), bytes }, owner);
  if (opened === null) return null;
  const value: T = JSON.parse(opened);
  return now - value.startedAt < ATTEMPT_MS_MAX ? value : null;
}
