import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface RoundRobin {
  /** Without a path. */
  readonly base: string;
  /** How many requests each target has got, in the order of the targets. */
  readonly served: readonly number[];
  stop(): Promise<void>;
}

/** They are about one connection, and there are two. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding'];

/**
 * A proxy as plain as there is one: each request goes to the next target, whatever it is about and whose it is. A target
 * that refuses the connection is passed over; one that ends under a request takes the client's connection with it.
 *
 * @param targets addresses without a path
 */
export async function startRoundRobin(targets: readonly string[]): Promise<RoundRobin> {
  const served = targets.map(() => 0);
  let turn = 0;

  const forward = (incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, triesLeft: number): void => {
    const at = turn % targets.length;
    turn += 1;
    const headers = { ...endToEnd(incoming.headers), 'content-length': String(body.length) };
    const url = new URL(incoming.url ?? '/', targets[at]);
    const sent = request(url, { agent: false, method: incoming.method ?? 'GET', headers });
    const giveUp = (): void => void sent.destroy();
    outgoing.once('close', giveUp);
    sent.on('response', (answer) => {
      served[at] = (served[at] as number) + 1;
      outgoing.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
      answer.pipe(outgoing);
      answer.once('close', () => answer.complete || outgoing.destroy());
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      outgoing.off('close', giveUp);
      if (error.code === 'ECONNREFUSED' && triesLeft > 0) forward(incoming, body, outgoing, triesLeft - 1);
      else outgoing.destroy();
    });
    sent.end(body);
  };
  const server = createServer((incoming, outgoing) => {
    buffer(incoming).then(
      (body) => forward(incoming, body, outgoing, targets.length - 1),
      () => outgoing.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    served,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}
