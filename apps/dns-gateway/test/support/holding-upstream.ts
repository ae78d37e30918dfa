import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A proxy in front of the upstream that can hold calls until the test releases them. */
export interface HoldingUpstream {
  /** The address, which ends in `/v1`. */
  readonly url: string;
  /** From now on, holds calls whose path contains this text. @returns a function that releases them and all later ones */
  hold(part: string): () => void;
  /** The number of calls so far whose path contains this text, held ones included. */
  calls(part: string): number;
  close(): Promise<void>;
}

export async function startHoldingUpstream(apiUrl: string): Promise<HoldingUpstream> {
  const held = new Map<string, Promise<void>>();
  const paths: string[] = [];
  const origin = new URL(apiUrl).origin;

  const passOn = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = req.url as string;
    const body = await buffer(req);
    paths.push(path);
    for (const [part, released] of held) if (path.includes(part)) await released;
    const { authorization = '', 'content-type': type = 'application/json' } = req.headers;
    const answer = await fetch(`${origin}${path}`, {
      method: req.method as string,
      headers: { authorization, 'content-type': type },
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    res.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  };
  const server = createServer((req, res) => void passOn(req, res).catch(() => res.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    hold(part) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(part, promise);
      return resolve;
    },
    calls: (part) => paths.filter((path) => path.includes(part)).length,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
