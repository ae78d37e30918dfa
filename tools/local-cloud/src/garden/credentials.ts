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

const userFields = (user: KubeconfigUser) =>
  'token' in user
    ? { token: user.token }
    : { 'client-certificate-data': base64(user.certificate), 'client-key-data': base64(user.key) };

/** Renders a kubeconfig for one user with one context per cluster. The first context is the current one. */
export function renderKubeconfig(
  userName: string,
  user: KubeconfigUser,
  clusters: readonly [KubeconfigCluster, ...KubeconfigCluster[]],
): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': clusters[0].name,
    clusters: clusters.map(({ name, server, authority, tlsServerName }) => ({
      name,
      cluster: {
        server,
        'certificate-authority-data': base64(authority),
        ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
      },
    })),
    contexts: clusters.map(({ name }) => ({
      name,
      context: { cluster: name, user: userName },
    })),
    users: [{ name: userName, user: userFields(user) }],
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
  const credentials = { authority, tokens: newTokens() };
  if (dataDir !== undefined && path !== null) {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(path, JSON.stringify(credentials), { mode: 0o600 });
  }
  return credentials;
}

const newTokens = (): GardenCredentials['tokens'] =>
  Object.fromEntries(
    accountNames.map((name) => [name, randomBytes(24).toString('base64url')]),
  ) as GardenCredentials['tokens'];

export const issueGardenServer = (authority: KeyPair): Promise<KeyPair> =>
  issueServerCertificate(
    authority,
    { dns: ['localhost', 'kubernetes', 'kubernetes.default.svc'], ip: [LOOPBACK] },
    longValidity(),
  );
