import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueServerCertificate, type KeyPair, makeAuthority } from '@corral/pki';
import { type AccountName, accountNames } from '../rights/accounts.js';

/** What makes a garden the same garden after a restart. */
export interface GardenCredentials {
  readonly authority: KeyPair;
  /** Bearer tokens of the accounts. */
  readonly tokens: Readonly<Record<AccountName, string>>;
}

const FILE = 'garden-credentials.json';
const DAY_MS = 86_400_000;

/** Clients look at their own clock, which may be behind the local cloud's. */
export const longValidity = () => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + 3650 * DAY_MS),
});

/** Reads the credentials from the data folder, or makes them. */
export async function openCredentials(dataDir: string | undefined): Promise<GardenCredentials> {
  const path = dataDir === undefined ? null : join(dataDir, FILE);
  if (path !== null && existsSync(path)) return keptCredentials(readFileSync(path, 'utf8'));
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

/** A folder of an earlier time knows one account only: the others come and go with the process then. */
function keptCredentials(text: string): GardenCredentials {
  const kept = JSON.parse(text) as Omit<GardenCredentials, 'tokens'> & { token?: string; tokens?: object };
  const earlier = kept.token === undefined ? {} : { 'technical-user': kept.token };
  return { authority: kept.authority, tokens: { ...newTokens(), ...earlier, ...kept.tokens } };
}

export const issueGardenServer = (authority: KeyPair, host: string): Promise<KeyPair> =>
  issueServerCertificate(
    authority,
    { dns: ['localhost', 'kubernetes', 'kubernetes.default.svc'], ip: [...new Set(['127.0.0.1', '::1', host])] },
    longValidity(),
  );
