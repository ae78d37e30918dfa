import { issueClientCertificate } from '@corral/pki';
import { type Clock, timestamp } from '../../clock.js';
import type { IssueKubeconfig } from '../http/build-garden-api.js';
import type { Shoot } from '../kinds/shoot/shoot.js';
import { shoots } from '../kinds/shoot/shoots.js';
import { invalid } from '../kube/field-error.js';
import { invalidObject, notFound } from '../kube/status-error.js';
import { type KubeconfigCluster, renderKubeconfig } from '../pki/kubeconfig.js';
import { objectOf } from '../store/held.js';
import type { ObjectStore } from '../store/object-store.js';
import { type ShootAuthorities, serverNameOf } from './shoot-authorities.js';

const DEFAULT_SECONDS = 3600;
/** Certificates begin earlier than they are issued, for clients whose clocks are behind. */
const BACKDATED_MS = 60_000;

/**
 * Issues client certificates of Shoots, as `adminkubeconfig` does.
 *
 * @param secondsMax longer requests are cut to this without a word
 */
export function kubeconfigIssuer(
  store: ObjectStore,
  authorities: ShootAuthorities,
  clock: Clock,
  secondsMax: () => number,
): IssueKubeconfig {
  return async ({ namespace, name, access, user, expirationSeconds = DEFAULT_SECONDS }) => {
    const held = store.get('shoots', namespace, name);
    if (held === null) throw notFound(shoots, name);
    const addresses = objectOf<Shoot>(held).status.advertisedAddresses ?? [];
    const authority = await authorities.get(held);
    const clusters = addresses.map(
      (address): KubeconfigCluster => ({
        name: `${namespace}--${name}-${address.name}`,
        server: address.url,
        authority: authority.certificate,
        tlsServerName: serverNameOf(held),
      }),
    );
    const [first, ...rest] = clusters;
    if (first === undefined) throw notReady(access, name);
    const seconds = Math.min(expirationSeconds, secondsMax());
    const nowMs = clock.now();
    const notAfter = new Date(Math.floor(nowMs / 1000 + seconds) * 1000);
    const client = await issueClientCertificate(
      authority,
      `gardener.cloud:${access}:${user}`,
      [access === 'admin' ? 'gardener.cloud:project:admins' : 'gardener.cloud:project:viewers'],
      { notBefore: new Date(nowMs - BACKDATED_MS), notAfter },
    );
    return {
      kubeconfig: renderKubeconfig(`${namespace}--${name}`, client, [first, ...rest]),
      expirationSeconds: seconds,
      expirationTimestamp: timestamp(notAfter.getTime()),
    };
  };
}

function notReady(access: 'admin' | 'viewer', name: string) {
  const kind = access === 'admin' ? 'AdminKubeconfigRequest' : 'ViewerKubeconfigRequest';
  const message = 'no suitable advertised address for kube-apiserver found in .status.advertisedAddresses';
  return invalidObject({ group: 'authentication.gardener.cloud', plural: `${access}kubeconfig`, kind }, name, [
    invalid('status.status', null, message),
  ]);
}
