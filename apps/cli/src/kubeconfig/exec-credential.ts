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
import { type Moment, momentNow, msSince } from './moment.js';

/** A credential in the file: valid for so long since it was asked for, whatever the clock of this machine shows. */
interface KeptCredential {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly askedAt: Moment;
  readonly lifetimeMs: number;
}

/** A credential is not handed out when it would end during a command. */
const SPARE_MS = 60_000;

/**
 * Prints a credential for kubectl. It is stored until shortly before its end, in a file that only its owner can read: kubectl asks
 * with every command, and the API issues few.
 */
export async function printCredential(cli: Cli, cluster: string, options: KubeconfigOptions): Promise<void> {
  const path = await credentialPath(cli, cluster, options);
  let credential = await readCredential(path);
  if (credential === null) {
    credential = credentialOf(await issueKubeconfig(await connectTeam(cli), cluster, options));
    await saveFile(path, JSON.stringify(credential));
  }
  cli.raw(`${JSON.stringify(execCredential(credential, momentNow()))}\n`);
}

/** How kubectl gets a credential from a plugin. It compares the expiry with the clock of this machine. */
function execCredential({ certificate, key, askedAt, lifetimeMs }: KeptCredential, now: Moment) {
  const leftMs = lifetimeMs - (msSince(askedAt, now) ?? lifetimeMs);
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: {
      expirationTimestamp: new Date(now.clock + leftMs).toISOString(),
      clientCertificateData: certificate,
      clientKeyData: key,
    },
  };
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

/** @returns null for one that is missing, not readable or about to end */
async function readCredential(path: string): Promise<KeptCredential | null> {
  try {
    const kept = JSON.parse(await readFile(path, 'utf8')) as KeptCredential;
    const ageMs = msSince(kept.askedAt, momentNow());
    return ageMs !== null && kept.lifetimeMs - ageMs > SPARE_MS ? kept : null;
  } catch {
    return null;
  }
}

/** Takes the client certificate out of a kubeconfig. @throws CliError for one that has none */
function credentialOf({ kubeconfig, askedAt, lifetimeMs }: IssuedKubeconfig): KeptCredential {
  const user = (kubeconfig.users[0]?.user ?? {}) as Record<string, string | undefined>;
  const { 'client-certificate-data': certificate, 'client-key-data': key } = user;
  if (certificate === undefined || key === undefined) {
    throw new CliError('unavailable', 'The service issued a kubeconfig without a client certificate.');
  }
  const decoded = (text: string) => Buffer.from(text, 'base64').toString('utf8');
  return { certificate: decoded(certificate), key: decoded(key), askedAt, lifetimeMs };
}
