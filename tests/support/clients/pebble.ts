import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort, startProcess } from '@corral/testing';
import { issueServerCertificate, makeAuthority } from '@corral/testing/certificates';
import { type Ends, type Env, ownFolder } from '../system/system-parts.js';
import type { Client } from './client-programs.js';
import { startResolver } from './resolver.js';

/** An ACME authority that really looks challenges up. */
export interface Pebble {
  /** The settings of a client that asks it for certificates. */
  readonly env: Env;
  /** The certificate at the end of every chain, which is another one each time. */
  root(): Promise<string>;
}

const DAY_MS = 86_400_000;

/**
 * Starts pebble, the ACME authority for tests of Let's Encrypt, with a certificate for `127.0.0.1`.
 *
 * @param client its command
 * @param dnsPort the port of the name server for all zones
 * @param port of its directory, `https://127.0.0.1:<port>/dir`; a free one by default
 * @param trusted a file with the authorities that clients trust already; they get it together with that of pebble
 */
export async function startPebble(
  ends: Ends,
  client: Client,
  { dnsPort, trusted, port: chosen }: { dnsPort: number; trusted: string; port?: number },
): Promise<Pebble> {
  if (client.kind === 'missing') throw new Error(client.missing.how);
  const folder = await ownFolder(ends);
  const file = (name: string): string => join(folder, name);
  const resolver = await startResolver(dnsPort);
  ends.push(resolver.stop);
  const [port, managementPort] = [chosen ?? (await freePort()), await freePort()];
  const authority = await certify(folder);
  await writeFile(file('bundle.pem'), `${await readFile(trusted, 'utf8')}\n${authority}`);
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: file('tls.crt'),
    privateKey: file('tls.key'),
    httpPort: 5002,
    tlsPort: 5001,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
    retryAfter: { authz: 1, order: 1 },
    keyAlgorithm: 'ecdsa',
  };
  await writeFile(file('pebble.json'), JSON.stringify({ pebble }));
  const directory = `https://127.0.0.1:${port}/dir`;
  const running = await startProcess({
    name: 'pebble',
    command: client.command[0] as string,
    args: ['-config', file('pebble.json'), '-dnsserver', `127.0.0.1:${resolver.port}`],
    // Every name is looked up every time, and immediately, and no nonce is refused. By default half of the names are taken as
    // proved before, and one nonce in twenty is refused, which certbot does not survive when it registers.
    env: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_AUTHZREUSE: '0', PEBBLE_WFE_NONCEREJECT: '0' },
    readyLine: 'ACME directory available',
  });
  ends.push(running.stop);
  return {
    env: {
      CORRAL_ACME: directory,
      CORRAL_RESOLVER: `127.0.0.1:${resolver.port}`,
      SSL_CERT_FILE: file('bundle.pem'),
      REQUESTS_CA_BUNDLE: file('bundle.pem'),
      NO_PROXY: '127.0.0.1',
      no_proxy: '127.0.0.1',
    },
    async root() {
      const asked = get(`https://127.0.0.1:${managementPort}/roots/0`, { ca: authority });
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      return text(answer);
    },
  };
}

/** @returns the certificate of the authority of `tls.crt` */
async function certify(folder: string): Promise<string> {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = makeAuthority('pebble', validity);
  const names = { dns: ['localhost'] as [string], ip: ['127.0.0.1'] };
  const { certificate, key } = issueServerCertificate(authority, names, validity);
  await writeFile(join(folder, 'tls.crt'), certificate);
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  return authority.certificate;
}
