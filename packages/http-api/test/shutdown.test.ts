import { connect } from 'node:net';
import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { openRaw, type Service, startService } from './service-process.js';

let service: Service | undefined;
afterEach(async () => {
  await service?.stop({ timeoutMs: 0 });
  service = undefined;
});

const isRefused = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(false);
    }).on('error', () => resolve(true));
  });

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: corral\r\n\r\n`;

describe('SIGTERM', () => {
  it('finishes a request in flight, refuses new connections, then closes the rest in order and exits 0', async () => {
    service = await startService();
    const client = await openRaw(service.port);
    client.socket.write(get('/slow'));
    await service.logged('slow began');

    service.kill('SIGTERM');
    await service.logged('shutdown begins');
    // The line is written before the listener is closed.
    await waitFor('newcomers to be refused', () => isRefused((service as Service).port));
    const readyz = await fetch(`${service.metricsUrl}/readyz`);
    service.kill('SIGUSR2');
    await client.closed;

    expect([readyz.status, await readyz.json()]).toEqual([503, { status: 'unavailable', failing: ['shutdown'] }]);
    expect(client.text()).toMatch(/^HTTP\/1\.1 200 OK.*Connection: close.*\{"done":true\}$/is);
    expect(await service.exited).toEqual({ code: 0, signal: null });
    const messages = service.lines().map(({ message }) => message);
    expect(messages.slice(messages.indexOf('shutdown begins'))).toEqual([
      'shutdown begins',
      'request',
      'database closed',
      'shutdown ends',
    ]);
  });

  it('does not wait for unused keep-alive connections', async () => {
    service = await startService({ GRACE: '60s' });
    const client = await openRaw(service.port);
    client.socket.write(get('/healthz'));
    await waitFor('the first answer', () => client.text().includes('"ok"'));

    service.kill('SIGTERM');

    await client.closed;
    expect((await service.exited).code).toBe(0);
  });

  it('aborts what has not ended after the grace period, and logs the request as aborted', async () => {
    service = await startService({ GRACE: '200ms' });
    const client = await openRaw(service.port);
    client.socket.write(get('/never?token=not-for-logs'));
    await service.logged('never began');

    service.kill('SIGTERM');

    await client.closed;
    expect((await service.exited).code).toBe(0);
    expect(service.lines()).toContainEqual(
      expect.objectContaining({ message: 'requests cut at shutdown', requests: 1 }),
    );
    expect(service.lines()).toContainEqual(
      expect.objectContaining({ message: 'request', path: '/never', route: '/never', aborted: true }),
    );
    expect(service.output()).not.toContain('not-for-logs');
  });

  it('exits immediately on a second signal', async () => {
    service = await startService({ GRACE: '60s' });
    const client = await openRaw(service.port);
    client.socket.write(get('/never'));
    await service.logged('never began');

    service.kill('SIGTERM');
    await service.logged('shutdown begins');
    service.kill('SIGTERM');

    expect(await service.exited).toEqual({ code: 143, signal: null });
  });
});

describe('an uncaught error', () => {
  it('is logged, closes everything and exits 1', async () => {
    service = await startService();

    await fetch(`${service.url}/throw-later`);

    expect(await service.exited).toEqual({ code: 1, signal: null });
    expect(service.lines()).toContainEqual(
      expect.objectContaining({
        message: 'unexpected error ends the process',
        error: expect.objectContaining({ message: 'thrown outside of any request' }),
      }),
    );
    expect(service.lines()).toContainEqual(expect.objectContaining({ message: 'database closed' }));
  });
});
