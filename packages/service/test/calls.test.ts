import type { Socket } from 'node:net';
import { closedUrl, type RawServer, rawAnswer, startRawServer, waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { exchange, mayHaveArrived, openAgent } from '../src/index.js';

let server: RawServer | undefined;
let agents: { destroy(): void }[] = [];
afterEach(async () => {
  for (const agent of agents) agent.destroy();
  agents = [];
  await server?.close();
  server = undefined;
});

function endpointOf(url: string, socketsMax?: number) {
  const agent = openAgent(new URL(url), { socketsMax });
  agents.push(agent);
  return { server: new URL(url), headers: { Authorization: 'Bearer secret' }, agent };
}
type Called = Parameters<typeof exchange>[0];

function call(endpoint: Called, signal = AbortSignal.timeout(50_000), onSocket = (): void => undefined) {
  const body = { type: 'application/json', bytes: Buffer.from('{}') };
  const bounds = { signal, bodyBytesMax: 100, onSocket };
  return exchange(endpoint, { method: 'POST', path: '/things?a=b', body }, bounds);
}

async function endpointThat(onRequest: (socket: Socket) => void, { path = '', socketsMax = 64 } = {}): Promise<Called> {
  server = await startRawServer(onRequest);
  return endpointOf(`${server.url}${path}`, socketsMax);
}

describe('a call', () => {
  it('returns status, headers and the exact bytes of the body', async () => {
    const endpoint = await endpointThat((socket) => socket.write(rawAnswer('418 Odd', ' {}\n', ['Retry-After:  5 '])), {
      path: '/v1/',
    });

    expect(await call(endpoint)).toMatchObject({
      kind: 'answered',
      status: 418,
      headers: { 'retry-after': '5' },
      body: Buffer.from(' {}\n'),
    });
    expect(server?.requests[0]).toMatch(/^POST \/v1\/things\?a=b HTTP\/1.1\r\n/);
    expect(server?.requests[0]).toContain('Authorization: Bearer secret\r\n');
  });

  it('is certain not to have arrived when no server listens, or the name does not exist', async () => {
    const refused = await call(endpointOf(await closedUrl()));
    const unknown = await call(endpointOf('http://upstream.invalid'));

    expect(refused).toEqual({
      kind: 'broken',
      stage: 'connecting',
      cause: 'error',
      code: 'ECONNREFUSED',
      untrusted: false,
    });
    expect(unknown).toMatchObject({ stage: 'connecting', cause: 'error' });
  });

  it('is certain not to have arrived when the server breaks off before TLS is ready', async () => {
    server = await startRawServer((socket) => socket.resetAndDestroy());

    expect(await call(endpointOf(server.url.replace('http:', 'https:')))).toMatchObject({ stage: 'connecting' });
  });

  it('is certain not to have arrived when it times out before TLS is ready', async () => {
    server = await startRawServer(() => undefined);

    const done = await call(endpointOf(server.url.replace('http:', 'https:')), AbortSignal.timeout(100));

    expect(done).toEqual({ kind: 'broken', stage: 'connecting', cause: 'time' });
  });

  it('is certain not to have arrived while it waits for a connection', async () => {
    const endpoint = await endpointThat(() => undefined, { socketsMax: 1 });
    const gaveUp = new AbortController();
    const first = call(endpoint, gaveUp.signal);

    const second = await call(endpoint, AbortSignal.timeout(50));

    expect(second).toEqual({ kind: 'broken', stage: 'queued', cause: 'time' });
    gaveUp.abort();
    expect(await first).toMatchObject({ kind: 'broken', cause: 'caller' });
  });

  it('says when it gets a connection, and may have arrived when its time ends after that', async () => {
    const endpoint = await endpointThat(() => undefined, { socketsMax: 1 });
    const [gaveUp, order] = [new AbortController(), [] as string[]];
    const first = call(endpoint, gaveUp.signal, () => order.push('first'));
    const second = call(endpoint, AbortSignal.timeout(1_000), () => order.push('second'));
    await waitFor('the first request', () => server?.requests.length === 1);
    order.push('sent');

    gaveUp.abort();

    expect(await first).toEqual({ kind: 'broken', stage: 'waiting', cause: 'caller' });
    expect(await second).toEqual({ kind: 'broken', stage: 'waiting', cause: 'time' });
    expect(order).toEqual(['first', 'sent', 'second']);
  });

  it('ends in time although its body never does', async () => {
    const endpoint = await endpointThat((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n{'));

    expect(await call(endpoint, AbortSignal.timeout(1_000))).toEqual({
      kind: 'broken',
      stage: 'waiting',
      cause: 'time',
    });
    await waitFor('the connection to be cut', () => server?.sockets.size === 0);
  });

  it('asks for no compression, follows no redirect and decompresses nothing', async () => {
    const headers = ['Location: http://127.0.0.1:1/', 'Content-Encoding: gzip'];
    const endpoint = await endpointThat((socket) => socket.write(rawAnswer('302 Found', 'xyz', headers)));

    expect(await call(endpoint)).toMatchObject({ kind: 'answered', status: 302, body: Buffer.from('xyz') });
    expect(server?.requests[0]).toMatch(/^Accept-Encoding: identity\r$/im);
  });

  it.each(['http_proxy', 'ALL_PROXY'])('does not heed the variable %s', async (name) => {
    const endpoint = await endpointThat((socket) => socket.write(rawAnswer('200 OK', '{}')));
    process.env[name] = await closedUrl();

    const done = await call(endpoint);

    delete process.env[name];
    expect(done).toMatchObject({ kind: 'answered' });
  });

  const chunked = 'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n';
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
  it.each<[string, (socket: Socket) => void, string]>([
    ['a reset', (socket) => socket.resetAndDestroy(), 'waiting'],
    ['half of the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Le'), 'waiting'],
    ['an upgrade', (socket) => socket.end(upgrade), 'waiting'],
    ['half of the body', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{'), 'answering'],
    ['a reset within the body', (socket) => socket.write(chunked, () => socket.resetAndDestroy()), 'answering'],
  ])('may have arrived when it is answered with %s', async (_what, fault, stage) => {
    const done = await call(await endpointThat(fault));

    expect(done).toMatchObject({ kind: 'broken', stage, cause: 'error', untrusted: false });
    expect(done.kind === 'broken' && mayHaveArrived(done)).toBe(true);
  });

  it('may have arrived when a reused connection breaks', async () => {
    const endpoint = await endpointThat((socket) => {
      if (server?.requests.length === 1) socket.write(rawAnswer('200 OK', '{}'));
      else socket.resetAndDestroy();
    });
    await call(endpoint);

    expect(await call(endpoint)).toMatchObject({ kind: 'broken', stage: 'waiting' });
  });

  it('is aborted at the maximum size of an answer', async () => {
    const endpoint = await endpointThat((socket) => socket.write(rawAnswer('200 OK', 'x'.repeat(101))));

    expect(await call(endpoint)).toEqual({ kind: 'broken', stage: 'answering', cause: 'too_large', bytesMax: 100 });
  });

  it('keeps nothing of the request in its error', async () => {
    const done = await call(await endpointThat((socket) => socket.end('Bearer secret\r\n')));

    expect(JSON.stringify(done)).not.toContain('secret');
  });
});
