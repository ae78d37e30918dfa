import type { Express, Request, RequestHandler, Response } from 'express';

/** Handlers keyed by `METHOD /path/:parameter`. Each returns the body of its answer; undefined for none. */
export type Routes = Readonly<Record<string, (req: Request, res: Response) => unknown>>;

/**
 * Serves routes: 204 for no body, 201 to a POST, else the status that the handler has set, or 200.
 *
 * @param before handlers that each request of a route passes first
 */
export function serveRoutes(app: Express, routes: Routes, before: (pattern: string) => RequestHandler[] = () => []) {
  for (const [key, handle] of Object.entries(routes)) {
    const [method = '', pattern = ''] = key.split(' ');
    const answer: RequestHandler = async (req, res) => {
      const body = await handle(req, res);
      if (body === undefined) res.status(204).end();
      else sendJson(res, req.method === 'POST' ? 201 : res.statusCode, body);
    };
    app[method.toLowerCase() as 'get'](pattern, ...before(pattern), answer);
  }
}

/** A parameter of the path. */
export const param = ({ params }: Request, name: string): string => String(params[name] ?? '');

/** Sends JSON under the bare media type, like an API server. Express would add a charset. */
export function sendJson(res: Response, status: number, body: unknown): void {
  const json = JSON.stringify(body);
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Content-Length', Buffer.byteLength(json));
  res.end(json);
}
