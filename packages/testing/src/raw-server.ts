import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** A TCP server for tests of connections that a regular HTTP server cannot produce. */
export interface RawServer {
  url: string;
  /** Received data, one entry per chunk; a small request is one chunk. */
  requests: string[];
  /** Open connections, the newest last. */
  sockets: Set<Socket>;
  close(): Promise<void>;
}

/** @param onRequest called with each received chunk */
export async function startRawServer(onRequest: (socket: Socket, text: string) => void, port = 0): Promise<RawServer> {
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
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns a URL where nothing listens. */
export async function closedUrl(): Promise<string> {
  const server = await startRawServer(() => {});
  await server.close();
  return server.url;
}

/** Renders an answer with its correct length. */
export function rawAnswer(status: string, body: object | string, headers: readonly string[] = []): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = [`HTTP/1.1 ${status}`, 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`];
  return `${[...lines, ...headers].join('\r\n')}\r\n\r\n${text}`;
}
