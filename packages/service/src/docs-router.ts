import express, { type Router } from 'express';

export interface DocsOptions {
  /** Makes the OpenAPI document, once, when it is first asked for. */
  readonly document: () => object;
  /** Folder of swagger-ui-dist. */
  readonly assetsDir: string;
}

const initializer = `window.onload = () => {
  window.ui = SwaggerUIBundle({ url: '../openapi.json', dom_id: '#swagger-ui', deepLinking: true });
};
`;

/** `/openapi.json`, and a page at `/docs/` to read it and try calls. */
export function docsRouter({ document, assetsDir }: DocsOptions): Router {
  let text: string | undefined;
  const router = express.Router();
  router.get('/openapi.json', (_req, res) => {
    text ??= JSON.stringify(document());
    res.type('application/json').send(text);
  });
  router.get('/docs/swagger-initializer.js', (_req, res) => {
    res.type('application/javascript').send(initializer);
  });
  router.use('/docs', express.static(assetsDir, { fallthrough: true }));
  return router;
}
