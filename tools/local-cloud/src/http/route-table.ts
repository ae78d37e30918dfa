import type { Request, Response } from 'express';

export interface Asked {
  readonly req: Request;
  readonly res: Response;
  /** A parameter of the path, decoded. */
  param(name: string): string;
}

type Handler = (asked: Asked) => unknown;

/** Handlers keyed by `METHOD /path/:parameter`. Each returns the body of its answer; undefined for none. */
export type RouteTable = Readonly<Record<string, Handler>>;

export interface Route {
  /** A pattern such as `/v1/zones/:zone`. */
  readonly pattern: string;
  readonly methods: readonly string[];
  /**
   * Calls the handler, and answers 204 without a body, 201 to a POST, else the status that the handler has set, or 200.
   *
   * @throws URIError for a malformed path
   */
  serve(req: Request, res: Response): void;
}

/** @returns a function that finds the route of a path; null if it is not in the table */
export function openRouteTable(table: RouteTable): (path: string) => Route | null {
  const patterns = [...new Set(Object.keys(table).map((key) => key.split(' ')[1] ?? ''))];
  const routes = patterns.map((pattern) => ({
    pattern,
    expression: new RegExp(`^${pattern.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
    methods: Object.keys(table).flatMap((key) => (key.endsWith(` ${pattern}`) ? (key.split(' ')[0] ?? '') : [])),
  }));
  return (path) => {
    for (const { pattern, expression, methods } of routes) {
      const match = expression.exec(path);
      if (match === null) continue;
      const serve: Route['serve'] = (req, res) => {
        const params = Object.entries(match.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text)]);
        const param = (name: string): string => Object.fromEntries(params)[name] ?? '';
        const body = table[`${req.method} ${pattern}`]?.({ req, res, param });
        if (body === undefined) res.status(204).end();
        else sendJson(res, req.method === 'POST' ? 201 : res.statusCode, body);
      };
      return { pattern, methods, serve };
    }
    return null;
  };
}

/** Sends JSON under the bare media type, like an API server. Express would add a charset. */
export const sendJson = (res: Response, status: number, body: unknown): void =>
  sendText(res, status, JSON.stringify(body));

/** Sends JSON that is already serialized. */
export function sendText(res: Response, status: number, json: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Content-Length', Buffer.byteLength(json));
  res.end(json);
}
