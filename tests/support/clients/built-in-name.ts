import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issueServerCertificate, makeAuthority } from '@corral/testing/certificates';
import type { Env } from '../system/system-parts.js';

/** The address that clients have built in. */
export const UPSTREAM_NAME = 'api.hetzner.cloud';
const DAY_MS = 86_400_000;

/** Writes `ca.pem`, and the `tls.crt` and `tls.key` of a server with the name of the upstream. */
export async function certifyUpstreamName(folder: string): Promise<void> {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = await makeAuthority('tests', validity);
  const { certificate, key } = await issueServerCertificate(authority, { dns: [UPSTREAM_NAME], ip: [] }, validity);
  await writeFile(join(folder, 'ca.pem'), authority.certificate);
  await writeFile(join(folder, 'tls.crt'), certificate);
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
}

/** The settings with which a gateway serves this name. */
export const tlsOfUpstreamName = (folder: string, port: number): Env => ({
  TLS_PORT: String(port),
  TLS_CERT_FILE: join(folder, 'tls.crt'),
  TLS_KEY_FILE: join(folder, 'tls.key'),
});

/** The settings of a client with a built-in address: the trusted authority, and the proxy that leads to the gateway. */
export const builtInAddress = (folder: string, { proxyUrl, token }: { proxyUrl: string; token: string }): Env => ({
  HTTPS_PROXY: proxyUrl,
  https_proxy: proxyUrl,
  NO_PROXY: undefined,
  no_proxy: undefined,
  SSL_CERT_FILE: join(folder, 'ca.pem'),
  REQUESTS_CA_BUNDLE: join(folder, 'ca.pem'),
  HCLOUD_ENDPOINT: undefined,
  HCLOUD_TOKEN: token,
  HETZNER_API_TOKEN: token,
});
