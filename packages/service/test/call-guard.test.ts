import { type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { callGuard, isPublicAddress } from '../src/call-guard.js';
import { startTracing } from '../src/traces.js';

/* Calls to addresses that teams choose. */

let server: RawServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const guard = callGuard({ privateHosts: ['10.0.0.1', '*.k8s.test'], allowLoopback: false });

describe('an address', () => {
  it.each(['1.1.1.1', '140.82.112.3', '2606:4700::1111', '2a01:4f8::1'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '127.0.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:1.1.1.1',
    '64:ff9b::a00:1',
    'fe80::1',
    'fd00::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '2002:a00:1::1',
    'not an address',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('the URL of a call', () => {
  it.each(['https://id.example.org/realm', 'https://10.0.0.1:6443', 'https://api.k8s.test'])('%s is allowed', (url) => {
    expect(guard.refusalOfUrl(new URL(url))).toBeNull();
  });

  it.each([
    'http://id.example.org',
    'http://127.0.0.1:8080',
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://[::1]',
    'https://[::ffff:169.254.169.254]',
    'https://10.0.0.2',
    'https://user:password@id.example.org',
    'ftp://id.example.org',
  ])('%s is refused', (url) => {
    expect(guard.refusalOfUrl(new URL(url))).not.toBeNull();
  });
});

/** A name server that has one answer after the other, and repeats the last. */
function namesWith(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve = ((host: string, _options: unknown, done: (error: null, found: unknown) => void) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(host);
    const found = answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    setImmediate(() => done(null, found));
  }) as never;
  return { asked, resolve };
}
const bounds = { msMax: 50_000, bodyBytesMax: 100 };
const get = { method: 'GET' } as const;

describe('a guarded call', () => {
  it.each<[string, readonly string[]]>([
    ['this machine', ['127.0.0.1']],
    ['this machine over IPv6', ['::1']],
    ['the metadata of the machine', ['169.254.169.254']],
    ['a private network', ['10.0.0.2']],
    ['an IPv4 address inside of an IPv6 one', ['::ffff:10.0.0.2']],
    ['NAT64', ['64:ff9b::a00:2']],
    ['a public address and a private one', ['1.1.1.1', '10.0.0.2']],
    ['nothing', []],
  ])('does not connect to a name that leads to %s', async (_what, addresses) => {
    const { resolve } = namesWith(addresses);
    const closed = callGuard({ privateHosts: [], allowLoopback: false, resolve });

    const broken = await closed.call(new URL('https://hooks.example.org'), get, bounds);

    expect(broken).toMatchObject({ kind: 'broken', stage: 'connecting', code: 'NOT_PUBLIC' });
  });

  it('connects to the address that was checked, whatever the name server says next', async () => {
    server = await startRawServer((socket) => socket.write(rawAnswer('200 OK', '{}')));
    const { asked, resolve } = namesWith(['127.0.0.1'], ['10.0.0.2']);
    const local = callGuard({ privateHosts: [], allowLoopback: true, resolve });
    const url = new URL(server.url);
    url.hostname = 'localhost';

    expect(await local.call(url, get, bounds)).toMatchObject({ kind: 'answered', status: 200 });
    expect(await local.call(url, get, bounds)).toMatchObject({ code: 'NOT_PUBLIC' });
    expect(asked).toHaveLength(2);
  });

  it('follows no redirect, and reads no longer answer than asked for', async () => {
    server = await startRawServer((socket) =>
      socket.write(rawAnswer('302 Found', 'x'.repeat(101), ['Location: https://10.0.0.2/'])),
    );
    const local = callGuard({ privateHosts: [], allowLoopback: true });

    expect(await local.call(new URL(server.url), get, bounds)).toMatchObject({ cause: 'too_large' });
    expect(await local.call(new URL(server.url), get, { msMax: 50_000 })).toMatchObject({ status: 302 });
    expect(server.requests).toHaveLength(2);
  });

  it('has its host in traces, and not its path, which may be the secret of a receiver', async () => {
    server = await startRawServer((socket) => socket.write(rawAnswer('200 OK', '{}')));
    const spans = await startRawServer((socket) => socket.write(rawAnswer('200 OK', '{}')));
    const { close } = await startTracing({
      ...{ service: 's', version: undefined, endpoint: spans.url },
      ...{ sampler: 'always_on', ratio: 1, onError: () => undefined },
    });
    try {
      const local = callGuard({ privateHosts: [], allowLoopback: true });
      await local.call(new URL(`${server.url}/hooks/T0P-S3CRET`), get, bounds);
    } finally {
      await close();
      await spans.close();
    }

    expect(server.requests.join()).toContain('T0P-S3CRET');
    expect(spans.requests.join()).toContain('server.address');
    expect(spans.requests.join()).not.toContain('T0P-S3CRET');
  });

  it('ends in time', async () => {
    server = await startRawServer(() => undefined);
    const local = callGuard({ privateHosts: [], allowLoopback: true });

    const broken = await local.call(new URL(server.url), get, { msMax: 50 });

    expect(broken).toMatchObject({ kind: 'broken', cause: 'time' });
  });
});
