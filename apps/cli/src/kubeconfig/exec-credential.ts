import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import envPaths from 'env-paths';
import type { Cli } from '../cli.js';
import { connectTeam } from '../clusters/team-api.js';
import { CliError } from '../exit-codes.js';
import { saveFile } from '../settings/save-file.js';
import { clusterAccess } from '../settings/settings.js';
import { type IssuedKubeconfig, issueKubeconfig, type KubeconfigOptions } from './issue.js';

/** How kubectl gets a credential from a plugin. */
interface ExecCredential {
  readonly apiVersion: 'client.authentication.k8s.io/v1';
  readonly kind: 'ExecCredential';
  readonly status: {
    readonly expirationTimestamp: string;
    readonly clientCertificateData: string;
    readonly clientKeyData: string;
  };
}

/** A credential is not handed out when it would end during a command. */
const SPARE_MS = 60_000;

/**
 * Prints a credential for kubectl. It is kept until shortly before its end, in a file that only its owner can read: kubectl asks
 * with every command, and the API issues few.
 */
export async function printCredential(cli: Cli, cluster: string, options: KubeconfigOptions): Promise<void> {
  const path = await credentialPath(cli, cluster, options);
  let credential = await readCredential(path);
  if (credential === null) {
    credential = credentialOf(await issueKubeconfig(await connectTeam(cli), cluster, options));
    await saveFile(path, JSON.stringify(credential));
  }
  cli.raw(`${JSON.stringify(credential)}\n`);
}

/** Keeps the credential of a kubeconfig for when kubectl asks. */
export async function keepCredential(
  cli: Cli,
  cluster: string,
  options: KubeconfigOptions,
  issued: IssuedKubeconfig,
): Promise<void> {
  await saveFile(await credentialPath(cli, cluster, options), JSON.stringify(credentialOf(issued)));
}

/** One file for each cluster, scope and identity, so that nobody gets the credential of somebody else. */
async function credentialPath({ given, io }: Cli, cluster: string, { scope }: KubeconfigOptions): Promise<string> {
  const { credentials, url, team } = clusterAccess(await given());
  const identity = JSON.stringify([url, team, cluster, scope, credentials]);
  const folder = io.env.CORRAL_CACHE || envPaths('corral', { suffix: '' }).cache;
  return join(folder, 'credentials', `${createHash('sha256').update(identity).digest('hex')}.json`);
}

/** @returns null for one that is missing, not valid or about to end */
async function readCredential(path: string): Promise<ExecCredential | null> {
  try {
    const credential = JSON.parse(await readFile(path, 'utf8')) as ExecCredential;
    return Date.parse(credential.status.expirationTimestamp) - SPARE_MS > Date.now() ? credential : null;
  } catch {
    return null;
  }
}

/** Takes the client certificate out of a kubeconfig. @throws CliError for one that has none */
export function credentialOf({ kubeconfig, expiresAt }: IssuedKubeconfig): ExecCredential {
  const user = (kubeconfig.users[0]?.user ?? {}) as Record<string, string | undefined>;
  const { 'client-certificate-data': certificate, 'client-key-data': key } = user;
  if (certificate === undefined || key === undefined) {
    throw new CliError('unavailable', 'The service issued a kubeconfig without a client certificate.');
  }
  const decoded = (text: string) => Buffer.from(text, 'base64').toString('utf8');
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: {
      expirationTimestamp: expiresAt,
      clientCertificateData: decoded(certificate),
      clientKeyData: decoded(key),
    },
  };
}
