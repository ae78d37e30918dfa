import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openRaw, type RawClient, type Service, startService } from './service-process.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ HEADERS_TIMEOUT: '300ms', REQUEST_TIMEOUT: '600ms' });
});
afterAll(() => service.stop());

describe('a slow client', () => {
  it('that never ends its headers is disconnected with 408', async () => {
    const client = await openRaw(service.port);
    client.socket.write('GET /healthz HTTP/1.1\r\nHost: corral\r\nX-Slow: ');

    await client.closed;

    expect(client.text()).toMatch(/^HTTP\/1\.1 408 /);
  });

  /** Sends one more byte again and again, for as long as the connection is open. */
  async function drip({ socket, closed }: RawClient): Promise<void> {
    const dripping = setInterval(() => socket.write('x'), 20);
    await closed;
    clearInterval(dripping);
  }

  it.each([
    ['its headers', 'GET /healthz HTTP/1.1\r\nHost: corral\r\nX-Slow: '],
    [
      'its body',
      'POST /body HTTP/1.1\r\nHost: corral\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n',
    ],
    ['a body that no handler reads', 'POST /healthz HTTP/1.1\r\nHost: corral\r\nContent-Length: 9999\r\n\r\n'],
  ])('that sends %s byte by byte is disconnected, answered or not', async (_what, head) => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(service.port)));
    for (const { socket } of clients) socket.write(head);

    await Promise.all(clients.map(drip));
  });

  it('that sends nothing is disconnected', async () => {
    const client = await openRaw(service.port);

    await client.closed;
  });
});
