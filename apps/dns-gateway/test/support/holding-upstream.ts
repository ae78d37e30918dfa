import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** An address in front of the upstream where calls wait until they are let go. */
export interface HoldingUpstream {
  /** Ends in `/v1`. */
  readonly url: string;
  /** From now on calls whose path holds this text wait. @returns lets them and all later ones go */
  hold(part: string): () => void;
  /** Calls so far whose path holds this text, waiting ones included. */
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
      let release = (): void => undefined;
      held.set(
        part,
        new Promise((resolve) => {
          release = resolve;
        }),
      );
      return () => release();
    },
    calls: (part) => paths.filter((path) => path.includes(part)).length,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
