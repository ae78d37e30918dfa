import { waitFor } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { openRaw, type RawClient, type Service, startService } from './service-process.js';

let service: Service;
afterEach(() => service.stop());

const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: corral\r\n\r\n';

/** Whether a new connection is served; it stays open then. */
async function isServed(): Promise<RawClient | null> {
  const client = await openRaw(service.port);
  client.socket.write(HEALTH);
  const answered = new Promise<RawClient>((resolve) => client.socket.once('data', () => resolve(client)));
  return Promise.race([answered, client.closed.then(() => null)]);
}

async function open(count: number): Promise<RawClient[]> {
  const clients: RawClient[] = [];
  for (let at = 0; at < count; at += 1) clients.push((await isServed()) as RawClient);
  expect(clients).not.toContain(null);
  return clients;
}

describe('connections from one address', () => {
  it('are closed immediately above their maximum, until another one ends', async () => {
    service = await startService({ CONNECTIONS_PER_ADDRESS: '5' });
    const [first] = await open(5);

    expect(await isServed()).toBeNull();
    first?.socket.destroy();

    await waitFor('the place of the closed one to be free', async () => (await isServed()) !== null);
    expect(await isServed()).toBeNull();
  });

  it('are not counted for a trusted proxy', async () => {
    service = await startService({ CONNECTIONS_PER_ADDRESS: '2', TRUST_PROXY: 'loopback' });

    await open(5);
  });

  it('are closed above the maximum for all addresses', async () => {
    service = await startService({ CONNECTIONS_MAX: '3', TRUST_PROXY: 'loopback' });
    const [first] = await open(3);

    expect(await isServed()).toBeNull();
    first?.socket.destroy();

    await waitFor('the place of the closed one to be free', async () => (await isServed()) !== null);
  });
});
