import { clusterLimits } from '@corral/contracts';

/** Default target after a sign-in: the page that shows who is signed in. */
export const defaultReturnPath = '/api/v1/me/';

/** The page that a person sees for a request of the command line. */
export const authorizationPath = '/auth/authorize/';

/** A host for parsing only. A path that changes this host would also leave the service's origin. */
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
  if (origin !== base || path === null || /^\/[/\\]/.test(path)) return null;
  if (/^\/auth(\/|$)/.test(path) && pathname !== authorizationPath) return null;
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
