import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawRequest {
  readonly token: string;
  readonly method?: string;
  readonly path: string;
  readonly body: unknown;
}

/** Sends one request on its own connection, which the test may close at any time. */
export async function sendRaw(url: string, { token, method = 'POST', path, body }: RawRequest): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const text = JSON.stringify(body);
  const head = [
    `${method} /v1${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  return socket;
}
