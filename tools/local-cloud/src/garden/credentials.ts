import { randomBytes } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import {
  issueClientCertificate,
  issueServerCertificate,
  type KeyPair,
  makeAuthority,
} from '@corral/testing/certificates';
import { stringify } from 'yaml';
import { type Clock, timestamp } from '../clock.js';
import { type AccountName, accountNames } from '../garden-accounts.js';
import { invalidObject } from '../kube/errors.js';
import { apiVersionOf, internalSecrets, shoots } from '../kube/kinds.js';
import { fieldAt } from '../kube/object.js';
import type { OwnRequest } from '../kube/serve-kube.js';
import { type Held, inGarden, type ObjectStore, type Ref } from '../kube/store.js';
import { LOOPBACK } from '../listen.js';
import type { Shoot } from './shoots/shoot.js';

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

type Place = Pick<Ref, 'namespace' | 'name'>;

/** A secret of the store, made on first use. */
function internal<T>(store: ObjectStore, { namespace, name }: Place, make: () => T): T {
  const ref = inGarden(internalSecrets, namespace, name);
  const held = store.find(ref);
  if (held !== null) return held.object.data as T;
  const data = make();
  store.put(ref, {
    apiVersion: apiVersionOf(internalSecrets),
    kind: 'InternalSecret',
    metadata: { namespace, name },
    data,
  });
  return data;
}

/** The credentials of the garden. */
export const openCredentials = (store: ObjectStore): GardenCredentials =>
  internal(store, { namespace: '', name: 'garden' }, () => {
    const tokens = accountNames.map((name) => [name, randomBytes(24).toString('base64url')]);
    return { authority: makeAuthority('local-garden', longValidity()), tokens: Object.fromEntries(tokens) };
  });

export const issueGardenServer = (authority: KeyPair): KeyPair =>
  issueServerCertificate(authority, { dns: ['localhost'], ip: [LOOPBACK] }, longValidity());

/** Domain of the Shoots' API servers. It does not resolve. */
const DOMAIN = 'shoot.local-garden.test';

/** TLS server name of a Shoot's API server. It identifies the Shoot. */
const serverNameOf = ({ namespace, name }: Place): string => `api.${name}.${namespace}.${DOMAIN}`;

/** @returns null for another name, or a Shoot that is not there */
export function shootNamed(store: ObjectStore, serverName: string): Held<Shoot> | null {
  const [, name, namespace, domain] = /^api\.([^.]+)\.([^.]+)\.(.*)$/.exec(serverName) ?? [];
  return domain === DOMAIN ? store.find(inGarden(shoots, namespace ?? '', name ?? '')) : null;
}

const SECONDS_DEFAULT = 3600;
/** Longer requests are shortened to it. */
const SECONDS_MAX = 86_400;
/** Certificates are backdated, for clients whose clocks are behind. */
const BACKDATED_MS = 60_000;

const requestKinds = { admin: 'AdminKubeconfigRequest', viewer: 'ViewerKubeconfigRequest' } as const;

/** The certificate authority of each Shoot, and what it issues. */
export class ShootAuthorities {
  /** Keyed by the Shoot's uid. */
  readonly #servers = new Map<string, SecureContext>();

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
  ) {}

  get = (shoot: Place): KeyPair => internal(this.store, shoot, () => makeAuthority('ca', longValidity()));

  /** After the end of the Shoot. */
  forget = ({ namespace, name }: Place): void => this.store.remove(inGarden(internalSecrets, namespace, name));

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

  /** Answers `POST …/shoots/{name}/adminkubeconfig` and `viewerkubeconfig`. Nothing is stored. @throws StatusError 422 */
  issueKubeconfig(held: Held<Shoot>, role: keyof typeof requestKinds, { visitor, body }: OwnRequest) {
    const seconds = Math.min(Number(fieldAt(body, 'spec', 'expirationSeconds') ?? SECONDS_DEFAULT), SECONDS_MAX);
    const authority = this.get(held);
    const [address] = held.object.status.advertisedAddresses ?? [];
    if (address === undefined)
      throw invalidObject(shoots, held.name, 'status.status', 'Invalid value: no suitable advertised address found');
    const nowMs = this.clock.now();
    const notAfter = new Date(Math.floor(nowMs / 1000 + seconds) * 1000);
    const validity = { notBefore: new Date(nowMs - BACKDATED_MS), notAfter };
    const user = `gardener.cloud:${role}:${visitor.user}`;
    const client = issueClientCertificate(authority, user, [`gardener.cloud:project:${role}s`], validity);
    const kubeconfig = renderKubeconfig(
      `${held.namespace}--${held.name}-${address.name}`,
      {
        server: address.url,
        'certificate-authority-data': base64(authority.certificate),
        'tls-server-name': serverNameOf(held),
      },
      { 'client-certificate-data': base64(client.certificate), 'client-key-data': base64(client.key) },
    );
    return {
      kind: requestKinds[role],
      apiVersion: 'authentication.gardener.cloud/v1alpha1',
      metadata: {},
      spec: { expirationSeconds: seconds },
      status: { kubeconfig: base64(kubeconfig), expirationTimestamp: timestamp(notAfter.getTime()) },
    };
  }
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Renders a kubeconfig for one user of one cluster. @param cluster, user as a kubeconfig has them */
export function renderKubeconfig(name: string, cluster: object, user: object): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user }],
  });
}
