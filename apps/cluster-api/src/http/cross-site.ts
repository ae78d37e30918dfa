import type { RequestHandler } from 'express';
import { Problem } from '../problem.js';

const harmless = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes that a page of another origin asks for, with the cookie of whoever looks at it. Browsers say where a
 * request comes from; what says nothing, such as curl, is no browser and sends no cookie by itself.
 */
export function refuseCrossSite(publicUrl: () => string): RequestHandler {
  return (req, _res, next) => {
    if (harmless.has(req.method)) return next();
    const { origin, 'sec-fetch-site': site } = req.headers;
    const foreignOrigin = origin !== undefined && origin !== new URL(publicUrl()).origin;
    const foreignSite = site !== undefined && site !== 'same-origin' && site !== 'none';
    if (foreignOrigin || foreignSite) {
      throw new Problem(
        'cross_site_request',
        `Changes are accepted only from pages of ${new URL(publicUrl()).origin}.`,
      );
    }
    next();
  };
}
