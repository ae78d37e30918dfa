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

/** Default target after a sign-in: the page that shows who is signed in. */
export const defaultReturnPath = '/api/v1/me/';

/** For parsing only. A path that changes this host would also leave the service's origin. */
const base = 'https://here.invalid';
/** Printable ASCII without the backslash. Browsers read backslashes as slashes and drop control characters. */
const plain = /^\/[\x21-\x5b\x5d-\x7e]*$/;
const LAYERS_MAX = 4;

/**
 * Reads the target of a sign-in: a path on the service's origin, with its query.
 *
 * @returns the path as browsers read it, or null when it might lead to another origin or back into the sign-in
 */
export function parseReturnPath(text: string): string | null {
  if (text.length > clusterLimits.returnToCharacters || !plain.test(text) || !URL.canParse(text, base)) return null;
  const { origin, pathname, search } = new URL(text, base);
  const path = whollyDecoded(pathname);
  if (origin !== base || path === null || /^\/[/\\]/.test(path) || /^\/auth(\/|$)/.test(path)) return null;
  return pathname + search;
}

/** Decodes repeatedly, like a faulty proxy might. Null when the path is still encoded after `LAYERS_MAX` rounds. */
function whollyDecoded(pathname: string): string | null {
  let path = pathname;
  for (let layer = 0; layer < LAYERS_MAX; layer += 1) {
    const decoded = decodedOnce(path);
    if (decoded === null || decoded === path) return decoded;
    path = decoded;
  }
  return null;
}

function decodedOnce(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}
