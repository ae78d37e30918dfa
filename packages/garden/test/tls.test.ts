import { createServer as createPlainServer } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Authority, anAuthority, base64, type Issued } from './a-certificate.js';
import { aClient, aKubeconfig, answerJson, aShoot, aShootName, aToken } from './a-garden.js';

let authority: Authority;
let server: Issued;
let open: { close(): unknown; closeAllConnections(): void }[] = [];

beforeAll(async () => {
  authority = await anAuthority();
  server = await authority.issue('garden', 'garden.test');
});

afterEach(() => {
  for (const one of open.splice(0)) {
    one.closeAllConnections();
    one.close();
  }
});

async function listen<T extends Server | ReturnType<typeof createPlainServer>>(it: T): Promise<number> {
  open = [...open, it];
  await new Promise<void>((resolve) => it.listen(0, '127.0.0.1', resolve));
  return (it.address() as AddressInfo).port;
}

/** Starts a garden that logs its callers: `subject of the certificate|authorization`. */
async function aTlsGarden(options: ServerOptions = {}) {
  const visitors: string[] = [];
  const sockets = new Set<unknown>();
  const garden = createServer({ ...server, ...options }, (request, response) => {
    const { CN } = (request.socket as TLSSocket).getPeerCertificate()?.subject ?? {};
    visitors.push(`${CN}|${request.headers.authorization}`);
    sockets.add(request.socket);
    answerJson(response, 200, aShoot());
  });
  return { visitors, sockets, url: `https://127.0.0.1:${await listen(garden)}` };
}

const trusting = () => ({ 'certificate-authority-data': base64(authority.ca), 'tls-server-name': 'garden.test' });

describe('a garden behind TLS', () => {
  it('is called over one connection if the authority of the kubeconfig signed its certificate', async () => {
    const { url, visitors, sockets } = await aTlsGarden();
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, { token: aToken }, trusting()) });

    for (let n = 0; n < 5; n += 1) await client.readShoot(aShootName);

    expect(visitors).toEqual(Array(5).fill(`undefined|Bearer ${aToken}`));
    expect(sockets.size).toBe(1);
    await client.close();
  });

  it.each<[string, () => object | Promise<object>]>([
    [
      'another authority vouches for it',
      async () => ({ ...trusting(), 'certificate-authority-data': base64((await anAuthority()).ca) }),
    ],
    ['no authority is named', () => ({ 'tls-server-name': 'garden.test' })],
    ['it has another name', () => ({ ...trusting(), 'tls-server-name': 'other.test' })],
  ])('receives no credentials when %s', async (_what, cluster) => {
    const { url, visitors } = await aTlsGarden();
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, { token: aToken }, await cluster()) });

    await expect(client.applyShoot({ metadata: aShootName, spec: {} })).rejects.toMatchObject({ kind: 'unreachable' });
    expect(visitors).toEqual([]);
  });

  it('is called without verification only if the kubeconfig waives it', async () => {
    const { url } = await aTlsGarden();
    const { client } = aClient(url, {
      kubeconfigText: aKubeconfig(url, { token: aToken }, { 'insecure-skip-tls-verify': true }),
    });

    expect(await client.readShoot(aShootName)).not.toBeNull();
    await client.close();
  });

  it('receives our client certificate', async () => {
    const { url, visitors } = await aTlsGarden({ ca: authority.ca, requestCert: true, rejectUnauthorized: false });
    const { cert, key } = await authority.issue('corral');
    const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, user, trusting()) });

    await client.readShoot(aShootName);

    expect(visitors).toEqual(['corral|undefined']);
    await client.close();
  });

  it('is called through the proxy of the kubeconfig', async () => {
    const { url, visitors } = await aTlsGarden();
    const tunnels: string[] = [];
    const proxy = createPlainServer();
    proxy.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const [host, port] = (request.url ?? '').split(':');
      const onward = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
    });
    const cluster = { ...trusting(), 'proxy-url': `http://127.0.0.1:${await listen(proxy)}` };
    const { client } = aClient(url, { kubeconfigText: aKubeconfig(url, { token: aToken }, cluster) });

    for (let n = 0; n < 3; n += 1) await client.readShoot(aShootName);

    expect(visitors).toHaveLength(3);
    expect(tunnels).toEqual([new URL(url).host]);
    await client.close();
  });
});
