import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

export interface RoundRobin {
  /** The address without a path. */
  readonly base: string;
  /** The number of requests that each target got, in the order of the targets. */
  readonly served: readonly number[];
  /** Whether each target was ready at its last check. */
  readonly ready: readonly boolean[];
  stop(): Promise<void>;
}

export interface RoundRobinOptions {
  /** The readiness path of each target. Targets that are not ready get no requests. By default, all count as ready. */
  readonly readyUrls?: readonly string[];
  readonly checkEveryMs?: number;
}

/** A target that does not answer its check within this time is not ready. */
const CHECK_MS_MAX = 10_000;

/** These headers apply to one connection, and a proxy has two. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding'];

/**
 * A very simple proxy: each request goes to the next target, independent of its sender and contents. The proxy skips
 * targets that refuse the connection. If a target ends during a request, so does the connection of the client.
 *
 * @param targets the addresses without a path
 */
export async function startRoundRobin(
  targets: readonly string[],
  { readyUrls, checkEveryMs = 1_000 }: RoundRobinOptions = {},
): Promise<RoundRobin> {
  const served = targets.map(() => 0);
  const isReady = targets.map(() => true);
  // Keeps connections open, as proxies do, so that a connection that closes during a request has an effect.
  const agent = readyUrls === undefined ? false : new Agent({ keepAlive: true });
  let turn = 0;
  const stopping = new AbortController();
  // One check after the other: a late answer to an older check must not hide what a newer one found.
  const check = async (index: number, url: string): Promise<void> => {
    while (!stopping.signal.aborted) {
      const answer = await fetch(url, { signal: AbortSignal.timeout(CHECK_MS_MAX) }).catch(() => null);
      isReady[index] = answer?.ok ?? false;
      await pause(checkEveryMs, null, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  readyUrls?.forEach((url, index) => void check(index, url));
  const nextTarget = (): number => {
    for (let tries = 0; tries < targets.length; tries += 1) {
      const at = turn++ % targets.length;
      if (isReady[at]) return at;
    }
    return turn++ % targets.length;
  };

  const forward = (incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse, triesLeft: number): void => {
    const at = nextTarget();
    const headers = { ...endToEnd(incoming.headers), 'content-length': String(body.length) };
    const url = new URL(incoming.url ?? '/', targets[at]);
    const sent = request(url, { agent, method: incoming.method ?? 'GET', headers });
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
    ready: isReady,
    stop: () =>
      new Promise((resolve) => {
        stopping.abort();
        if (agent !== false) agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
}
