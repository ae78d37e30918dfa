import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { corralVersion, type Health } from '@corral/service';
import { type RequestHandler, Router, type RouterOptions } from 'express';
import { page } from './mount-routes.js';

interface DocsOptions {
  /** Renders the OpenAPI document. Called once, on first use. */
  readonly document: () => object;
  /** Folder of swagger-ui-dist. */
  readonly assetsDir: string;
}

const initializer = `window.onload = () => {
  window.ui = SwaggerUIBundle({ url: '../openapi.json', dom_id: '#swagger-ui', deepLinking: true });
};
`;

/** The files of Swagger UI that the page needs. */
const assets = [
  'index.html',
  'index.css',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-16x16.png',
  'favicon-32x32.png',
];
const script = 'application/javascript; charset=utf-8';
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': script,
  '.png': 'image/png',
};

/** `/openapi.json`, and a page at `/docs/` to read it and try calls. */
export function docsRouter({ document, assetsDir }: DocsOptions): Router {
  const pages = assetPages(assetsDir);
  const router = Router({ caseSensitive: true, strict: true });
  router.all(
    '/openapi.json',
    staticPage(() => ({ type: 'application/json; charset=utf-8', content: JSON.stringify(document()) })),
  );
  router.all(
    '/docs',
    page((_req, res) => res.redirect(301, '/docs/')),
  );
  router.all('/docs/', pages.get('index.html') as RequestHandler);
  router.all(
    '/docs/swagger-initializer.js',
    staticPage(() => ({ type: script, content: initializer })),
  );
  router.all('/docs/:file', (req, res, next) => {
    const asset = pages.get(req.params.file);
    return asset === undefined ? next() : asset(req, res, next);
  });
  return router;
}

const pagesOfFolders = new Map<string, ReadonlyMap<string, RequestHandler>>();

/** Shared by all apps of the process. */
function assetPages(folder: string): ReadonlyMap<string, RequestHandler> {
  const known = pagesOfFolders.get(folder);
  if (known !== undefined) return known;
  const read = async (name: string) => ({
    type: types[extname(name)] as string,
    content: await readFile(join(folder, name)),
  });
  const pages = new Map(assets.map((name) => [name, staticPage(() => read(name))]));
  pagesOfFolders.set(folder, pages);
  return pages;
}

export interface StaticPage {
  /** The whole `Content-Type`. */
  readonly type: string;
  /** Constant during the life of the process. */
  readonly content: string | Buffer;
}

interface Packed {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  readonly tag: string;
}

/** Maximum time until browsers see a new version of the service. */
const CACHE_CONTROL = 'public, max-age=300';

/**
 * Serves content that never changes: compressed once, and not sent again to clients that have it. Mount it with `all`.
 *
 * @param read called once, on first use: most processes end without serving it
 */
export function staticPage(read: () => StaticPage | Promise<StaticPage>): RequestHandler {
  let packed: Promise<Packed> | undefined;
  const packedOnce = (): Promise<Packed> => {
    packed ??= pack(read);
    return packed;
  };
  return page(async (req, res) => {
    const { type, plain, gzipped, tag } = await packedOnce();
    res.set({ 'Content-Type': type, 'Cache-Control': CACHE_CONTROL, ETag: tag }).vary('Accept-Encoding');
    if (req.fresh) {
      res.status(304).end();
      return;
    }
    const compressed = req.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (compressed) res.set('Content-Encoding', 'gzip');
    const body = compressed ? gzipped : plain;
    res.set('Content-Length', String(body.length)).end(body);
  });
}

async function pack(read: () => StaticPage | Promise<StaticPage>): Promise<Packed> {
  const { type, content } = await read();
  const plain = Buffer.from(content);
  // Weak, because both encodings share the tag.
  const tag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 27)}"`;
  return { type, plain, gzipped: await promisify(gzip)(plain, { level: 9 }), tag };
}

export interface HealthRoutesOptions extends RouterOptions {
  /** The API's own error, with status 503. Default: 503 with the names of the failing checks. */
  readonly notReady?: (failing: readonly string[]) => Error;
}

/** `/healthz`: 200 while the process lives, with its version. `/readyz`: 200 when every check passes. */
export function healthRoutes(health: Health, options: HealthRoutesOptions = {}): Router {
  const { notReady, ...paths } = options;
  const router = Router(paths);
  router.all(
    '/healthz',
    page((_req, res) => void res.set('Cache-Control', 'no-store').json({ status: 'ok', version: corralVersion })),
  );
  router.all(
    '/readyz',
    page(async (_req, res) => {
      const { ready, failing } = await health.readiness();
      if (!ready && notReady !== undefined) throw notReady(failing);
      res.set('Cache-Control', 'no-store').status(ready ? 200 : 503);
      res.json(ready ? { status: 'ok' } : { status: 'unavailable', failing });
    }),
  );
  return router;
}

const DAY_MS = 86_400_000;
/** RFC 9116 advises less than a year. A service that runs vouches for its contact anew with each answer. */
const VALID_DAYS = 180;

/**
 * `/.well-known/security.txt` (RFC 9116): whom to tell about a vulnerability.
 *
 * @param contact a `mailto:` or `https:` URL; without one the path does not exist
 */
export function securityTxt(contact: string | undefined): Router {
  const router = Router({ caseSensitive: true, strict: true });
  if (contact !== undefined) router.all('/.well-known/security.txt', showContact(contact));
  return router;
}

const showContact = (contact: string): RequestHandler =>
  page((_req, res) => {
    const expires = new Date((Math.floor(Date.now() / DAY_MS) + VALID_DAYS) * DAY_MS).toISOString();
    res.set('Cache-Control', 'public, max-age=86400').type('text/plain');
    res.send(`Contact: ${contact}\nExpires: ${expires}\nPreferred-Languages: en\n`);
  });
