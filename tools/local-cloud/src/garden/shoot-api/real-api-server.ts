import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:https';

/** An API server of Kubernetes that has the objects of a Shoot's cluster in our place. */
export interface RealApiServer {
  readonly url: string;
  /** Bearer token with all rights. */
  readonly token: string;
  /** PEM. */
  readonly authority: string;
}

/** Has it answer a request of somebody whom the Shoot's own API server has let in. @param body already read; empty for none */
export function passOn(server: RealApiServer, req: IncomingMessage, res: ServerResponse, body: Buffer): void {
  const { host: _, ...headers } = req.headers;
  const sent = request(new URL(req.url ?? '/', server.url), {
    method: req.method,
    headers: { ...headers, authorization: `Bearer ${server.token}` },
    ca: server.authority,
  });
  sent.on('response', (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  sent.on('error', () => res.destroy());
  sent.end(body);
}
