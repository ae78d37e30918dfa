import { connect } from 'node:net';

/** An answer as received over a socket. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly json: any;
}

/** A request as sent over a socket. */
export interface RawRequest {
  readonly method?: string;
  /** Sent unchanged in the request line, without normalisation by a client. */
  readonly path: string;
  /** A bearer token. */
  readonly token?: string | null;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
}

/** Renders a request with `Connection: close`. Adds `Content-Length` for a body. */
export function renderRequest({ method = 'GET', path, token = null, headers = [], body }: RawRequest): Buffer {
  const isChunked = headers.some(([name]) => name.toLowerCase() === 'transfer-encoding');
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: api.test',
    'Connection: close',
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined || isChunked ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    '',
    '',
  ];
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), Buffer.from(body ?? '')]);
}

/**
 * Sends bytes over a new connection and reads until the server closes it.
 *
 * @param options `end` half-closes the connection after sending
 */
export function sendBytes(url: string, bytes: string | Buffer, { end = false } = {}): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      if (end) socket.end(bytes);
      else socket.write(bytes);
    });
    socket.setTimeout(10_000, () => socket.destroy(new Error('The connection was kept open for 10 s')));
    socket.on('data', (part) => parts.push(part));
    socket.on('error', reject);
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(parseAnswer(Buffer.concat(parts).toString())));
  });
}

export function sendRaw(url: string, request: RawRequest): Promise<RawAnswer> {
  return sendBytes(url, renderRequest(request));
}

/** A chunked body of one chunk. */
export function chunked(body: string): string {
  return `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;
}

function parseAnswer(text: string): RawAnswer {
  const bodyAt = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, bodyAt).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = text.slice(bodyAt + 4);
  const isJson = /^application\/(\w+\+)?json/.test(headers['content-type'] ?? '') && body !== '';
  return { status: Number(statusLine.split(' ')[1]), headers, text: body, json: isJson ? JSON.parse(body) : undefined };
}
