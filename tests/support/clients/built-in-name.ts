import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { freePort } from '@corral/testing';
import { issueServerCertificate, makeAuthority } from '@corral/testing/certificates';
import { type Ends, type Env, ownFolder } from '../system/system-parts.js';

/** The address that clients have built in. */
export const UPSTREAM_NAME = 'api.hetzner.cloud';
const DAY_MS = 86_400_000;

/** What leads clients with a built-in address to a gateway. */
export interface UpstreamName {
  /** Contains `ca.pem`, the authority that clients have to trust, and the certificate of the name. */
  readonly folder: string;
  readonly authority: string;
  /** The port of the gateway with TLS. */
  readonly port: number;
  /** The settings with which a gateway serves the name. */
  readonly gatewayEnv: Env;
  /** The settings of a client: the trusted authority, and the proxy that leads to the gateway. */
  clientEnv(of: { readonly token: string }): Env;
}

export async function ownUpstreamName(ends: Ends): Promise<UpstreamName> {
  const folder = await ownFolder(ends);
  await certifyUpstreamName(folder);
  const port = await freePort();
  const proxyUrl = await startForwardProxy(ends, `${UPSTREAM_NAME}:443`, port);
  const authority = join(folder, 'ca.pem');
  return {
    folder,
    authority,
    port,
    gatewayEnv: {
      TLS_PORT: String(port),
      TLS_CERT_FILE: join(folder, 'tls.crt'),
      TLS_KEY_FILE: join(folder, 'tls.key'),
    },
    clientEnv: ({ token }) => ({
      HTTPS_PROXY: proxyUrl,
      https_proxy: proxyUrl,
      NO_PROXY: undefined,
      no_proxy: undefined,
      SSL_CERT_FILE: authority,
      REQUESTS_CA_BUNDLE: authority,
      HCLOUD_ENDPOINT: undefined,
      HCLOUD_TOKEN: token,
      HETZNER_API_TOKEN: token,
    }),
  };
}

/** Writes `ca.pem`, and the `tls.crt` and `tls.key` of a server with the name of the upstream. */
export async function certifyUpstreamName(folder: string): Promise<void> {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = makeAuthority('tests', validity);
  const { certificate, key } = issueServerCertificate(authority, { dns: [UPSTREAM_NAME], ip: [] }, validity);
  await writeFile(join(folder, 'ca.pem'), authority.certificate);
  await writeFile(join(folder, 'tls.crt'), certificate);
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
}

/**
 * A proxy that leads connections for one host to a port of this machine, and refuses all others. It replaces what a test
 * may not have: a name that resolves to this machine, and port 443. It does not change the traffic, so the TLS of the
 * client ends at the listener on that port.
 *
 * @param target the host and port that clients ask for, as `name:443`
 * @returns the value for `HTTPS_PROXY`
 */
async function startForwardProxy(ends: Ends, target: string, port: number): Promise<string> {
  const sockets = new Set<Socket>();
  const proxy = createServer((_request, response) => response.writeHead(405).end());
  proxy.on('connect', ({ url }, client: Socket, head) => {
    if (url !== target) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    for (const [socket, other] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.once('close', () => sockets.delete(socket));
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
