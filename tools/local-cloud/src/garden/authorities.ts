import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { issueServerCertificate, type KeyPair, makeAuthority } from '@corral/testing/certificates';
import { type AccountName, accountNames } from '../garden-accounts.js';
import { LOOPBACK } from '../listen.js';
import type { Held, ObjectStore } from './store.js';

/** Persistent credentials of a garden. */
interface GardenCredentials {
  readonly authority: KeyPair;
  /** Bearer tokens of the accounts. */
  readonly tokens: Readonly<Record<AccountName, string>>;
}

const DAY_MS = 86_400_000;

/** A wide range: clients use their own clocks, which may be behind that of the local cloud. */
const longValidity = () => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + 3650 * DAY_MS),
});

/** Reads the credentials of the garden from the data folder or creates them. */
export function openCredentials(dataDir: string | undefined): GardenCredentials {
  const path = dataDir === undefined ? null : join(dataDir, 'garden-credentials.json');
  if (path !== null && existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as GardenCredentials;
  const authority = makeAuthority('local-garden', longValidity());
  const tokens = Object.fromEntries(accountNames.map((name) => [name, randomBytes(24).toString('base64url')]));
  const credentials = { authority, tokens: tokens as GardenCredentials['tokens'] };
  if (dataDir !== undefined && path !== null) {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(path, JSON.stringify(credentials), { mode: 0o600 });
  }
  return credentials;
}

export const issueGardenServer = (authority: KeyPair): KeyPair =>
  issueServerCertificate(authority, { dns: ['localhost'], ip: [LOOPBACK] }, longValidity());

/** Domain of the Shoots' API servers. It does not resolve. */
const DOMAIN = 'shoot.local-garden.test';

/** TLS server name of a Shoot's API server. It identifies the Shoot. */
export const serverNameOf = (shoot: Pick<Held, 'namespace' | 'name'>): string =>
  `api.${shoot.name}.${shoot.namespace}.${DOMAIN}`;

/** @returns null for another name, or a Shoot that is not there */
export function shootNamed(store: ObjectStore, serverName: string): Held | null {
  const [, name, namespace, domain] = /^api\.([^.]+)\.([^.]+)\.(.*)$/.exec(serverName) ?? [];
  return domain === DOMAIN ? store.get('shoots', namespace ?? '', name ?? '') : null;
}

/** The certificate authority of each Shoot, created on first use and stored with the Shoot, and the certificate of its API server. */
export class ShootAuthorities {
  /** Keyed by the Shoot's uid. */
  readonly #servers = new Map<string, SecureContext>();

  constructor(private readonly store: ObjectStore) {}

  get(held: Held): KeyPair {
    const { simulation } = held;
    if (simulation.authority !== undefined) return simulation.authority;
    const authority = makeAuthority('ca', longValidity());
    this.store.simulate('shoots', held, { ...simulation, authority });
    return authority;
  }

  /** What a Shoot's API server shows in a handshake. */
  serverOf(held: Held): SecureContext {
    const server = this.#servers.get(held.uid) ?? this.#issueServer(held);
    this.#servers.set(held.uid, server);
    return server;
  }

  #issueServer(held: Held): SecureContext {
    const names = { dns: [serverNameOf(held)], ip: [LOOPBACK] } as const;
    const { certificate, key } = issueServerCertificate(this.get(held), names, longValidity());
    return createSecureContext({ cert: certificate, key });
  }
}
