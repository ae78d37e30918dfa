import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import express from 'express';
import { clientErrorRenderer, RequestFault } from '../src/errors.js';
import { rawBody } from '../src/requests/json-body.js';
import { buildHttpServer, type HttpServerOptions, type HttpTimeouts } from '../src/server/http-server.js';
import { plainErrors } from './plain-errors.js';
import { openRaw, type RawClient } from './service-process.js';

/** So long that no test gets to see its end. */
const PATIENT: HttpTimeouts = { requestMs: 50_000, lingerMs: 50_000 };
const MIB = 1_048_576;

let stop: (() => Promise<void>) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

/** Answers `/refused` before the body, and `/read` after it. */
function anApp() {
  const app = express();
  app.post('/refused', (_req, res) => res.status(401).send('refused'));
  app.post('/read', rawBody({ bytes: MIB }), (_req, res) => res.send('read'));
  app.use((error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
    res.status(error instanceof RequestFault ? 400 : 500).send(error.message);
  });
  return app;
}

const optionsWith = (timeouts: HttpTimeouts): HttpServerOptions => ({
  timeouts,
  onClientError: clientErrorRenderer(plainErrors),
});

async function start(timeouts: HttpTimeouts): Promise<Server> {
  const { server, drain } = buildHttpServer(anApp(), optionsWith(timeouts));
  stop = () => drain(0).then(() => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

const open = (server: Server): Promise<RawClient> =>
  openRaw((server.address() as AddressInfo).port, { allowHalfOpen: true });

const send = (socket: Socket, bytes: string): Promise<unknown> =>
  new Promise((resolve) => {
    socket.write(bytes, resolve);
  });

const head = (path: string, ...headers: string[]): string =>
  [`POST ${path} HTTP/1.1`, 'Host: corral', ...headers, '', ''].join('\r\n');
const lengthOf = (bytes: number): string => `Content-Length: ${bytes}`;

const REQUESTS: [string, number, string, string][] = [
  ['a body that is refused unread', 401, head('/refused', 'Connection: close', lengthOf(MIB)), 'x'.repeat(MIB)],
  ['headers without an end', 431, 'POST /read HTTP/1.1\r\nX-Large: ', 'x'.repeat(MIB)],
];

describe('a client that still sends when its last answer arrives', () => {
  it.each(REQUESTS)('reads the answer after sending all of %s', async (_what, status, begin, rest) => {
    const { socket, text, closed } = await open(await start(PATIENT));
    socket.pause();

    await send(socket, begin);
    await send(socket, rest);
    socket.end();
    socket.resume();

    expect(await closed).toBe('ended');
    expect(text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it.each(REQUESTS)('can send the rest of %s after it has read the answer', async (_what, status, begin, rest) => {
    const { socket, text, closed } = await open(await start(PATIENT));
    const answered = once(socket, 'end');
    const pieces = rest.match(/.{1,65536}/gs) ?? [];

    await send(socket, begin + pieces[0]);
    await answered;
    for (const piece of pieces.slice(1)) await send(socket, piece);
    socket.end();

    expect(await closed).toBe('ended');
    expect(text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*Connection: close`, 's'));
  });

  it('is disconnected when it does not stop', async () => {
    const { socket, text, closed } = await open(await start(PATIENT));
    const answered = once(socket, 'end');
    socket.write(head('/refused', 'Connection: close', lengthOf(1_000 * MIB)));
    await answered;

    while (!socket.destroyed) await send(socket, 'x'.repeat(65_536));

    expect(await closed).toBe('cut');
    expect(text()).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('is disconnected when it stays and sends nothing more', async () => {
    const server = await start({ lingerMs: 1 });
    const { socket } = await open(server);
    socket.write(head('/refused', 'Connection: close', lengthOf(MIB)));

    await waitFor('the connection to be cut', async () => (await openAt(server)) === 0);

    socket.destroy();
  });
});

describe('a client whose request was read completely', () => {
  it('is disconnected without a wait after its last answer', async () => {
    const server = await start(PATIENT);
    const { socket, text } = await open(server);
    socket.write(`${head('/read', 'Connection: close', lengthOf(2))}{}`);

    await waitFor('the connection to be closed', async () => (await openAt(server)) === 0 && text() !== '');

    expect(text()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

const openAt = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
