import { issueServerCertificate, type KeyPair, makeAuthority } from '@corral/testing/certificates';
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

/** The certificate authority of each Shoot, created on first use and stored with the Shoot. */
export class ShootAuthorities {
  readonly #making = new Map<string, Promise<KeyPair>>();
  /** Keyed by the Shoot's uid. */
  readonly #servers = new Map<string, Promise<KeyPair>>();

  constructor(private readonly store: ObjectStore) {}

  async get(held: Held): Promise<KeyPair> {
    const known = held.simulation.authority;
    if (known !== undefined) return known;
    const making = this.#making.get(held.uid) ?? this.#make(held);
    this.#making.set(held.uid, making);
    try {
      return await making;
    } finally {
      this.#making.delete(held.uid);
    }
  }

  async #make({ namespace, name, uid }: Held): Promise<KeyPair> {
    const authority = await makeAuthority('ca', longValidity());
    const current = this.store.get('shoots', namespace, name);
    if (current?.uid === uid) this.store.simulate('shoots', current, { ...current.simulation, authority });
    return authority;
  }

  /** The certificate of a Shoot's API server. */
  async serverOf(held: Held): Promise<KeyPair> {
    let server = this.#servers.get(held.uid);
    if (server === undefined) {
      const authority = await this.get(held);
      server = issueServerCertificate(authority, { dns: [serverNameOf(held)], ip: ['127.0.0.1'] }, longValidity());
      this.#servers.set(held.uid, server);
    }
    return server;
  }
}
