/**
 * Builds the path below the base address. Each segment stays one segment: what could lead elsewhere (`/`, `%2F`, `?`,
 * `#`) is encoded, and what an URL parser would swallow (an empty segment, `.`, `..`) is an error. `@` and `*` stay as
 * they are, as the upstream's own clients send them.
 *
 * @throws TypeError when a segment is empty, `.`, `..` or no valid Unicode
 */
export function renderPath(segments: readonly string[]): string {
  if (segments.length === 0) throw new TypeError('A path to the upstream needs at least one segment.');
  return segments.map((segment) => `/${encodeSegment(segment)}`).join('');
}

function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..') {
    throw new TypeError(`A path segment must not be ${JSON.stringify(segment)}: it would change the endpoint.`);
  }
  try {
    return encodeURIComponent(segment).replaceAll('%40', '@');
  } catch {
    throw new TypeError('A path segment must be valid Unicode: it holds half a surrogate pair.');
  }
}

const zonePattern = ['zones', '{zone}', 'rrsets', '{name}', '{type}', 'actions'];

/** Gives the pattern of a call for metrics. Nothing of a tenant gets into it, whatever the segments hold. */
export function routeOf(method: string, segments: readonly string[]): string {
  if (segments[0] !== 'zones' || segments.length > zonePattern.length + 1) return `${method} other`;
  const pattern = segments.map((segment, index) => zonePattern[index] ?? actionVerb(segment));
  return `${method} /${pattern.join('/')}`;
}

const actionVerbs = new Set(['set_records', 'add_records', 'remove_records', 'update_records', 'change_ttl']);

function actionVerb(segment: string): string {
  return actionVerbs.has(segment) ? segment : '{action}';
}

/** Whether a write only takes away: there has to be room for it under pressure, for it is what relieves quotas. */
export function isCleanup(method: string, segments: readonly string[]): boolean {
  return method === 'DELETE' || segments.at(-1) === 'remove_records';
}

/** The record set that a write names in its path; null for one that creates a set, which has none yet. */
export function recordSetOf(segments: readonly string[]): string | null {
  return segments.length < 5 ? null : segments.slice(0, 5).join('/');
}
