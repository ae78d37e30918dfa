import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { page } from '@corral/http-api';
import { type RequestHandler, Router } from 'express';
import expressStaticGzip from 'express-static-gzip';
import { escaped } from '../html.js';
import { notFound } from '../problem.js';

export interface ConsoleOptions {
  /** What the pages have to know before they ask: ways to sign in, and the version of the installation. */
  readonly settings: { readonly openIdConnect: boolean; readonly devSignIn: boolean; readonly version: string };
  /** URL of the DNS API, which the pages call; null without one. */
  readonly dnsEndpoint: string | null;
}

const NONCE_BYTES = 16;

/** The built console, which `apps/console` leaves in its `dist`. */
const indexFile = (): string => createRequire(import.meta.url).resolve('@corral/console/dist/index.html');

/**
 * The web console at `/console/`. All its addresses answer the same page, so that a link or a reload opens what it shows.
 * Its files have a hash in their name and are cached for ever; the page is never cached, as it names them.
 */
export function consoleRouter({ settings, dnsEndpoint }: ConsoleOptions): Router {
  const file = indexFile();
  const html = readFileSync(file, 'utf8').replaceAll('{{settings}}', escaped(JSON.stringify(settings)));
  const connectSources = ["'self'", ...(dnsEndpoint === null ? [] : [new URL(dnsEndpoint).origin])];
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/',
    page((_req, res) => res.redirect(302, '/console/')),
  );
  router.all(
    '/console',
    page((_req, res) => res.redirect(301, '/console/')),
  );
  router.use(
    '/console',
    page((_req, _res, next) => next()),
    expressStaticGzip(dirname(file), {
      enableBrotli: true,
      orderPreference: ['br', 'gz'],
      index: false,
      serveStatic: {
        index: false,
        redirect: false,
        dotfiles: 'ignore',
        setHeaders: (res, path) => res.setHeader('Cache-Control', cacheControlOf(path)),
      },
    }),
  );
  router.get('/console/assets/{*path}', () => {
    throw notFound();
  });
  router.get('/console/{*path}', showPage(html, connectSources));
  return router;
}

const cacheControlOf = (path: string): string =>
  /[/\\]assets[/\\]/.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache';

function showPage(html: string, connectSources: readonly string[]): RequestHandler {
  return (_req, res) => {
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    res.setHeader('Cache-Control', 'no-store');
    res.setHeader('Content-Security-Policy', policyWith(nonce, connectSources));
    res.type('html').send(html.replaceAll('{{nonce}}', nonce));
  };
}

/** Scripts come from files of this service only. Libraries add styles while the page runs, which need the nonce. */
function policyWith(nonce: string, connectSources: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    `connect-src ${connectSources.join(' ')}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}
