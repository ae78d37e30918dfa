import { clusterLimits } from '@corral/contracts';

/** Where a sign-in ends that was not asked to end elsewhere: the page that says who is signed in. */
export const defaultReturnPath = '/api/v1/me/';

/** Only for parsing: what makes another host of this one leads away from ours as well. */
const base = 'https://here.invalid';
/** No backslash, and nothing that is not printable: browsers turn the one round and drop the other. */
const plain = /^\/[\x21-\x5b\x5d-\x7e]*$/;
const LAYERS_MAX = 4;

/**
 * Reads where to go after a sign-in: a path on the origin of the service, with its query.
 *
 * @returns the path as browsers read it; null for all that might lead anywhere else, or round in circles
 */
export function parseReturnPath(text: string): string | null {
  if (text.length > clusterLimits.returnToCharacters || !plain.test(text) || !URL.canParse(text, base)) return null;
  const { origin, pathname, search } = new URL(text, base);
  const path = whollyDecoded(pathname);
  if (origin !== base || path === null || /^\/[/\\]/.test(path) || /^\/auth(\/|$)/.test(path)) return null;
  return pathname + search;
}

/** As a proxy would read it that decodes more often than it should. Null when even that comes to no end. */
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
