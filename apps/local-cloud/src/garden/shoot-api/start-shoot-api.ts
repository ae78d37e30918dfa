import { createSecureContext, type SecureContext } from 'node:tls';
import type { KeyPair } from '@corral/pki';
import { type ListeningServer, listenHttps } from '../../listen.js';
import type { World } from '../gardenlet/perform-step.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { equalJson } from '../kube/object.js';
import { objectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';
import { buildShootApi, type ShootApiDeps } from './build-shoot-api.js';
import { type ShootAuthorities, shootOfServerName } from './shoot-authorities.js';

export interface ShootApi extends Pick<ListeningServer, 'close'> {
  /** Where every Shoot's API server is reached. */
  readonly addresses: World['addresses'];
}

/**
 * Serves the API servers of all Shoots on one address. Which of them is meant, the server name of TLS tells.
 *
 * @param fallback shown to whoever names no Shoot: no client of a Shoot trusts it
 */
export async function startShootApi(
  deps: ShootApiDeps,
  { host, port }: { host: string; port: number },
  fallback: KeyPair,
): Promise<ShootApi> {
  const { store, authorities } = deps;
  const server = await listenHttps(buildShootApi(deps), host, port, {
    cert: fallback.certificate,
    key: fallback.key,
    requestCert: true,
    // Judged by the clock of the cloud, after the handshake.
    rejectUnauthorized: false,
    SNICallback: (serverName, callback) => {
      contextFor(store, authorities, serverName).then(
        (context) => callback(null, context),
        (error) => callback(error),
      );
    },
  });
  const url = `https://${host}:${server.port}`;
  const addresses = [
    { name: 'external', url },
    { name: 'internal', url },
  ];
  readvertise(store, addresses);
  return { addresses, close: server.close };
}

async function contextFor(
  store: ObjectStore,
  authorities: ShootAuthorities,
  serverName: string,
): Promise<SecureContext | undefined> {
  const named = shootOfServerName(serverName);
  const held = named && store.get('shoots', named.namespace, named.name);
  if (held === null) return undefined;
  const { certificate, key } = await authorities.serverOf(held);
  return createSecureContext({ cert: certificate, key });
}

/** Shoots of an earlier run may be reached at another port now. */
function readvertise(store: ObjectStore, addresses: World['addresses']): void {
  for (const held of store.list('shoots')) {
    const shoot = objectOf<Shoot>(held);
    const { advertisedAddresses } = shoot.status;
    if (advertisedAddresses === undefined || equalJson(advertisedAddresses, addresses)) continue;
    shoot.status.advertisedAddresses = addresses.map((address) => ({ ...address }));
    store.put('shoots', shoot);
  }
}
