import { issueServerCertificate, type KeyPair, makeAuthority } from '@corral/testing/certificates';
import { LOOPBACK } from '../../listen.js';
import { longValidity } from '../credentials.js';
import type { Held, ObjectStore } from '../store.js';

/** Domain of the Shoots' API servers. It does not resolve. */
const DOMAIN = 'shoot.local-garden.test';

/** TLS server name of a Shoot's API server. It identifies the Shoot. */
export const serverNameOf = (shoot: Pick<Held, 'namespace' | 'name'>): string =>
  `api.${shoot.name}.${shoot.namespace}.${DOMAIN}`;

export function shootOfServerName(serverName: string): { namespace: string; name: string } | null {
  const [, name, namespace] = /^api\.([^.]+)\.([^.]+)\./.exec(serverName) ?? [];
  if (name === undefined || namespace === undefined || !serverName.endsWith(`.${DOMAIN}`)) return null;
  return { namespace, name };
}

/** The certificate authority of each Shoot, created on first use and stored with the Shoot, and the certificate of its API server. */
export class ShootAuthorities {
  /** Keyed by the Shoot's uid, as the servers. */
  readonly #authorities = new Map<string, Promise<KeyPair>>();
  readonly #servers = new Map<string, Promise<KeyPair>>();

  constructor(private readonly store: ObjectStore) {}

  get(held: Held): Promise<KeyPair> {
    const authority = this.#authorities.get(held.uid) ?? this.#restore(held);
    this.#authorities.set(held.uid, authority);
    return authority;
  }

  /** The certificate of a Shoot's API server. */
  serverOf(held: Held): Promise<KeyPair> {
    const names = { dns: [serverNameOf(held)], ip: [LOOPBACK] } as const;
    const issue = (authority: KeyPair) => issueServerCertificate(authority, names, longValidity());
    const server = this.#servers.get(held.uid) ?? this.get(held).then(issue);
    this.#servers.set(held.uid, server);
    return server;
  }

  async #restore({ namespace, name, uid, simulation }: Held): Promise<KeyPair> {
    if (simulation.authority !== undefined) return simulation.authority;
    const authority = await makeAuthority('ca', longValidity());
    const current = this.store.get('shoots', namespace, name);
    if (current?.uid === uid) this.store.simulate('shoots', current, { ...current.simulation, authority });
    return authority;
  }
}
