import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** A server below HTTP: it can do to a connection what no well-behaved server does. */
export interface RawUpstream {
  baseUrl: string;
  /** what arrived, one entry per chunk: a small request is one */
  requests: string[];
  close(): Promise<void>;
}

/**
 * Starts a server on loopback.
 *
 * @param onRequest called with each chunk of a request that arrives
 * @param port any free one unless given
 */
export async function startRawUpstream(
  onRequest: (socket: Socket, text: string) => void,
  port = 0,
): Promise<RawUpstream> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      requests.push(chunk.toString());
      onRequest(socket, chunk.toString());
    });
  });
  return {
    baseUrl: `http://127.0.0.1:${await listen(server, port)}/v1`,
    requests,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Gives an address at which nobody listens. */
export async function closedBaseUrl(): Promise<string> {
  const upstream = await startRawUpstream(() => {});
  await upstream.close();
  return upstream.baseUrl;
}

/** Renders an answer with its true length. */
export function rawAnswer(status: string, body: string, headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status}`, 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`];
  return `${[...lines, ...headers].join('\r\n')}\r\n\r\n${body}`;
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}
