import { createSecureContext, type SecureContext } from 'node:tls';
import type { KeyPair } from '@corral/testing/certificates';
import { type ListeningServer, listenHttps } from '../../listen.js';
import type { World } from '../gardenlet/perform-step.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { equalJson } from '../kube/object.js';
import { objectOf } from '../objects/held.js';
import type { ObjectStore } from '../objects/object-store.js';
import { buildShootApi } from './build-shoot-api.js';
import type { ShootApiDeps } from './requests.js';
import { type ShootAuthorities, shootOfServerName } from './shoot-authorities.js';

export interface ShootApi extends Pick<ListeningServer, 'close'> {
  /** Addresses of every Shoot's API server. */
  readonly addresses: World['addresses'];
}

/**
 * Serves the API servers of all Shoots on one address. The TLS server name identifies the Shoot.
 *
 * @param fallback certificate for clients that name no Shoot; no client of a Shoot trusts it
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
    // Verified after the handshake, by the simulated clock.
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

/** Updates the addresses of Shoots from an earlier run: the port may differ. */
function readvertise(store: ObjectStore, addresses: World['addresses']): void {
  for (const held of store.list('shoots')) {
    const shoot = objectOf<Shoot>(held);
    const { advertisedAddresses } = shoot.status;
    if (advertisedAddresses === undefined || equalJson(advertisedAddresses, addresses)) continue;
    shoot.status.advertisedAddresses = addresses.map((address) => ({ ...address }));
    store.put('shoots', shoot);
  }
}
