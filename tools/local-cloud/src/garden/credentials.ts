import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueServerCertificate, type KeyPair, makeAuthority } from '@corral/testing/certificates';
import { stringify } from 'yaml';
import { type AccountName, accountNames } from '../garden-accounts.js';
import { LOOPBACK } from '../listen.js';

export interface KubeconfigCluster {
  readonly name: string;
  /** `https://…`. */
  readonly server: string;
  /** PEM. */
  readonly authority: string;
  /** Name to verify the server's certificate against, if it differs from the address. */
  readonly tlsServerName?: string;
}

type KubeconfigUser =
  | { readonly token: string }
  /** PEM. */
  | { readonly certificate: string; readonly key: string };

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Renders a kubeconfig for one user of one cluster. */
export function renderKubeconfig(user: string, credentials: KubeconfigUser, cluster: KubeconfigCluster): string {
  const { name, server, authority, tlsServerName } = cluster;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [
      {
        name,
        cluster: {
          server,
          'certificate-authority-data': base64(authority),
          ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user } }],
    users: [
      {
        name: user,
        user:
          'token' in credentials
            ? credentials
            : {
                'client-certificate-data': base64(credentials.certificate),
                'client-key-data': base64(credentials.key),
              },
      },
    ],
  });
}

/** Persistent credentials of a garden. */
interface GardenCredentials {
  readonly authority: KeyPair;
  /** Bearer tokens of the accounts. */
  readonly tokens: Readonly<Record<AccountName, string>>;
}

const FILE = 'garden-credentials.json';
const DAY_MS = 86_400_000;

/** A wide range: clients use their own clocks, which may be behind that of the local cloud. */
export const longValidity = () => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + 3650 * DAY_MS),
});

/** Reads the credentials from the data folder or creates them. */
export async function openCredentials(dataDir: string | undefined): Promise<GardenCredentials> {
  const path = dataDir === undefined ? null : join(dataDir, FILE);
  if (path !== null && existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as GardenCredentials;
  const authority = await makeAuthority('local-garden', longValidity());
  const tokens = Object.fromEntries(accountNames.map((name) => [name, randomBytes(24).toString('base64url')]));
  const credentials = { authority, tokens: tokens as GardenCredentials['tokens'] };
  if (dataDir !== undefined && path !== null) {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(path, JSON.stringify(credentials), { mode: 0o600 });
  }
  return credentials;
}

export const issueGardenServer = (authority: KeyPair): Promise<KeyPair> =>
  issueServerCertificate(
    authority,
    { dns: ['localhost', 'kubernetes', 'kubernetes.default.svc'], ip: [LOOPBACK] },
    longValidity(),
  );
