import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openRaw, type Service, startService } from './service-process.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ HEADERS_TIMEOUT: '300ms', REQUEST_TIMEOUT: '600ms' });
});
afterAll(() => service.stop());

describe('a slow client', () => {
  it('that never ends its headers is cut with 408', async () => {
    const client = await openRaw(service.port);
    client.socket.write('GET /healthz HTTP/1.1\r\nHost: corral\r\nX-Slow: ');

    await client.closed;

    expect(client.text()).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('that never ends its body is cut', async () => {
    const client = await openRaw(service.port);
    client.socket.write(
      'POST /body HTTP/1.1\r\nHost: corral\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );

    await client.closed;

    expect(client.text()).not.toMatch(/^HTTP\/1\.1 200/);
  });
});
