import { dnsOpenApi } from '@corral/contracts';
import express, { type Router } from 'express';
import { absolutePath } from 'swagger-ui-dist';

const initializer = `window.onload = () => {
  window.ui = SwaggerUIBundle({ url: '../openapi.json', dom_id: '#swagger-ui', deepLinking: true });
};
`;

/** `/openapi.json`, and a page at `/docs/` to read it and try calls. */
export function docsRoutes({ publicUrl }: { publicUrl: string }): Router {
  const document = JSON.stringify(dnsOpenApi(publicUrl));
  const router = express.Router();
  router.get('/openapi.json', (_req, res) => {
    res.type('application/json').send(document);
  });
  router.get('/docs/swagger-initializer.js', (_req, res) => {
    res.type('application/javascript').send(initializer);
  });
  router.use('/docs', express.static(absolutePath(), { fallthrough: true }));
  return router;
}
