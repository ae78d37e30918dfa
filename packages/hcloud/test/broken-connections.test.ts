import type { Socket } from 'node:net';
import { closedUrl, type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { HcloudOptions } from '../src/index.js';
import { aClient, anError, aWrite, scopeOn } from './a-client.js';

let upstream: RawServer | undefined;

afterEach(async () => {
  await upstream?.close();
  upstream = undefined;
});

async function connectTo(onRequest: (socket: Socket, text: string) => void, options: Partial<HcloudOptions> = {}) {
  upstream = await startRawServer(onRequest);
  return { ...aClient({ baseUrl: `${upstream.url}/v1`, ...PATIENT, ...options }), requests: upstream.requests };
}

/** A slow machine can connect and send in this time. */
const SOON_MS = 1_500;
/** Makes attempts until it is aborted. */
const PATIENT = { waitMsMax: 60_000 };

describe('a write whose connection breaks after the request was sent', () => {
  it('by a reset is uncertain, and is not sent again', async () => {
    const { client, requests } = await connectTo((socket) => socket.resetAndDestroy());

    const outcome = await client.write(aWrite());

    expect(outcome).toEqual({ kind: 'uncertain', reason: expect.any(String) });
    expect(requests).toHaveLength(1);
  });

  it('is uncertain when the upstream never answers', async () => {
    const { client, requests } = await connectTo(() => {}, { timeoutMs: SOON_MS });

    const outcome = await client.write(aWrite());

    expect(outcome).toEqual({ kind: 'uncertain', reason: `no complete answer within ${SOON_MS} ms` });
    expect(requests).toHaveLength(1);
  });
});

describe('a write without a connection', () => {
  it('is unreached and not throttled after any number of attempts: unsent requests cost no budget', async () => {
    const headers = [
      'RateLimit-Limit: 3600',
      // so little that a team which has made one call may make one more immediately, and no third one
      'RateLimit-Remaining: 18',
      'RateLimit-Reset: 9999999999',
      'Connection: close',
    ];
    const gaveUp = new AbortController();
    const outcomes: string[] = [];
    const { client } = await connectTo((socket) => socket.end(rawAnswer('201 Created', '{}', headers)), {
      onCall: ({ outcome }) => outcomes.push(outcome) === 4 && gaveUp.abort(),
    });
    await client.write(aWrite());
    await upstream?.close();
    upstream = undefined;

    const outcome = await client.write(aWrite(), { scope: scopeOn(gaveUp.signal) });

    expect(outcome.kind).toBe('unreached');
    expect(outcomes).toEqual(['accepted', 'unreached', 'unreached', 'unreached']);
  });

  it('arrives when the upstream is available again', async () => {
    const baseUrl = await closedUrl();
    const { client, calls } = aClient({ baseUrl, ...PATIENT });
    const writing = client.write(aWrite());
    while (calls.length === 0) await new Promise(setImmediate);

    upstream = await startRawServer(
      (socket) => socket.write(rawAnswer('201 Created', '{}')),
      Number(new URL(baseUrl).port),
    );

    expect((await writing).kind).toBe('accepted');
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('a read whose connection breaks', () => {
  it('is repeated and succeeds', async () => {
    const body = '{"zone": {"id": 7001, "name": "example.net", "mode": "primary"}}';
    const { client, requests } = await connectTo((socket) => {
      if (requests.length === 1) socket.resetAndDestroy();
      else socket.write(rawAnswer('200 OK', body));
    });

    const zone = await client.readZone('example.net');

    expect(zone).toMatchObject({ kind: 'found', id: 7001 });
  });
});

describe('a request on the wire', () => {
  it.each(['../../servers', '%2e%2e', '//evil.test/', 'a b\r\nHost: evil'])(
    'keeps the name %j in its own segment',
    async (name) => {
      const { client, requests } = await connectTo((socket) =>
        socket.write(rawAnswer('404 Not Found', anError('not_found'))),
      );

      await client.write(aWrite({ method: 'DELETE', segments: ['zones', '7001', 'rrsets', name, 'A'], body: null }));

      const target = requests[0]?.split('\r\n')[0]?.split(' ')[1] ?? '';
      expect(target).toMatch(/^\/v1\/zones\/7001\/rrsets\/[^/?#\\]+\/A$/);
      expect(decodeURIComponent(target.split('/')[5] ?? '')).toBe(name);
      expect(requests[0]?.match(/^host:/gim)).toHaveLength(1);
    },
  );

  it('contains the exact bytes of the body, and `@` and `*` unencoded', async () => {
    const { client, requests } = await connectTo((socket) => socket.write(rawAnswer('201 Created', '{}')));
    const body = Buffer.from('{ "records":[{"value" : "\\u00e9 é"}],\n"ttl":3.6e3 }');

    await client.write({ team: 'acme', method: 'POST', segments: ['zones', '@*', 'rrsets'], body });

    expect(requests.join('')).toMatch(/^POST \/v1\/zones\/@\*\/rrsets HTTP\/1.1\r\n/);
    expect(requests.join('').split('\r\n\r\n')[1]).toBe(body.toString());
  });
});
