import { setTimeout as pause } from 'node:timers/promises';
import {
  createEmptyDatabase,
  type FlakyProxy,
  startFlakyProxy,
  startPostgres,
  type TestDatabase,
  waitFor,
} from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Listener, type ListenOptions, listen } from '../src/index.js';
import { killConnections } from './kill-connections.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.drop());

const listeners: Listener[] = [];
const proxies: FlakyProxy[] = [];
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

describe('listen', () => {
  it('passes every payload to the handler of its channel', async () => {
    const { listener, heard } = start();
    await waitFor('the listener to connect', listener.isConnected);

    await notify('first', 'a');
    await notify('other', 'b');
    await notify('second', 'c');

    await waitFor('both notifications', () => heard.length === 2);
    expect(heard).toEqual(['first a', 'second c']);
  });

  it('reports a gap once it listens, so that nothing earlier is trusted', async () => {
    const { listener, gaps } = start();
    expect(listener.isConnected()).toBe(false);

    await waitFor('the listener to connect', listener.isConnected);

    expect(gaps()).toBe(1);
  });

  it('reconnects when its connection is killed, and reports a gap at both ends', async () => {
    const { listener, gaps, heard, errors } = start();
    await waitFor('the listener to connect', listener.isConnected);

    await killConnections(database.url, 'listener');
    await waitFor('the loss to be noticed', () => gaps() === 2);
    expect(listener.isConnected()).toBe(false);
    await waitFor('the listener to come back', listener.isConnected);
    await notify('first', 'after');

    await waitFor('the notification', () => heard.length === 1);
    expect(gaps()).toBe(3);
    expect(errors).toHaveLength(1);
  });

  it('keeps trying while the server is unavailable', async () => {
    const server = await startPostgres();
    const { listener, errors } = start(server.url);
    await waitFor('the listener to connect', listener.isConnected);

    await server.stop();

    await waitFor('a second try to fail', () => errors.length >= 2);
    expect(listener.isConnected()).toBe(false);
  });

  describe('on a connection that hangs but stays open', () => {
    it('counts as connected for 1.5 s after the last answered probe', async () => {
      let now = 0;
      const { listener, proxy } = await startBehindProxy({ tick: () => now });

      proxy.hang();
      now += 1_499;
      const before = listener.isConnected();
      now += 1;

      expect([before, listener.isConnected()]).toEqual([true, false]);
    });

    it('stops counting as connected, and closes', async () => {
      const { listener, errors, proxy } = await startBehindProxy();

      proxy.hang();
      await waitFor('the silence to be noticed', () => !listener.isConnected());

      expect(errors).toEqual([]); // it may still come back
      await listener.close();
    });

    it('reconnects and receives again', async () => {
      const { listener, heard, gaps, proxy } = await startBehindProxy();
      proxy.hang();
      await waitFor('the silence to be noticed', () => !listener.isConnected());
      await notify('first', 'lost');

      proxy.restore();
      await waitFor('the listener to come back', listener.isConnected);
      await notify('first', 'after');

      await waitFor('the notification', () => heard.length === 1);
      expect(heard).toEqual(['first after']);
      expect(gaps()).toBe(3);
    });
  });

  it.each([0, 1, 2, 5, 10, 20])('closes %i ms after it began to connect', async (ms) => {
    const { listener, errors } = start();
    await pause(ms);

    await listener.close();

    expect(listener.isConnected()).toBe(false);
    expect(errors).toEqual([]);
  });

  it('closes while connected and while unable to connect', async () => {
    const connected = start();
    await waitFor('the listener to connect', connected.listener.isConnected);
    const lost = start('postgresql://nobody@127.0.0.1:1/nowhere');
    await waitFor('a try to fail', () => lost.errors.length > 0);

    await connected.listener.close();
    await lost.listener.close();

    expect(connected.listener.isConnected()).toBe(false);
    expect(connected.errors).toEqual([]);
  });
});

function start(databaseUrl = database.url, options: Pick<ListenOptions, 'tick'> = {}) {
  const heard: string[] = [];
  const errors: Error[] = [];
  let gaps = 0;
  const listener = listen({
    databaseUrl,
    applicationName: 'listener',
    channels: {
      first: (payload) => heard.push(`first ${payload}`),
      second: (payload) => heard.push(`second ${payload}`),
    },
    onGap: () => {
      gaps += 1;
    },
    onError: (error) => errors.push(error),
    ...options,
  });
  listeners.push(listener);
  return { listener, heard, errors, gaps: () => gaps };
}

async function startBehindProxy(options: Pick<ListenOptions, 'tick'> = {}) {
  const { hostname: host, port } = new URL(database.url);
  const proxy = await startFlakyProxy({ host, port: Number(port) });
  proxies.push(proxy);
  const url = new URL(database.url);
  url.host = `127.0.0.1:${proxy.port}`;
  const started = start(url.toString(), options);
  await waitFor('the listener to connect', started.listener.isConnected);
  return { ...started, proxy };
}

async function notify(channel: string, payload: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('SELECT pg_notify($1, $2)', [channel, payload]);
  await client.end();
}
