import type { RequestHandler } from 'express';

/**
 * Normalizes the path before routing. Repeated slashes count as one, because some clients join paths to an endpoint that ends
 * in a slash. A percent sign that does not start a valid UTF-8 escape becomes a literal one, so that it fails as an invalid
 * name instead of as an invalid request. The router decodes each segment once, later. The origin of a target in absolute form
 * (RFC 9112 section 3.2.2) stays: Express removes it.
 */
export function canonicalUrl(): RequestHandler {
  return (req, _res, next) => {
    const queryAt = req.url.indexOf('?');
    const path = queryAt === -1 ? req.url : req.url.slice(0, queryAt);
    const canonical = canonicalPath(path);
    if (canonical !== path) req.url = queryAt === -1 ? canonical : canonical + req.url.slice(queryAt);
    next();
  };
}

export function canonicalPath(path: string): string {
  const origin = path.startsWith('/') ? '' : (/^https?:\/\/[^/]*/i.exec(path)?.[0] ?? '');
  const rest = path.slice(origin.length);
  const single = rest.includes('//') ? rest.replace(/\/{2,}/g, '/') : rest;
  return origin + (single.includes('%') ? single.split('/').map(decodableSegment).join('/') : single);
}

function decodableSegment(segment: string): string {
  try {
    decodeURIComponent(segment);
    return segment;
  } catch {
    return segment.replaceAll('%', '%25');
  }
}
