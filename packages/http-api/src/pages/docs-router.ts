import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type RequestHandler, Router } from 'express';
import { page } from '../mount-routes.js';
import { staticPage } from './static-page.js';

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
