import { type ClusterOperationId, clusterRoutes, type DnsOperationId, dnsRoutes } from '@corral/contracts';
import type { Cycle } from './call.js';
import { clusterReads } from './cluster-reads.js';
import { clusterWrites } from './cluster-writes.js';
import { dnsCalls } from './dns-calls.js';
import { signInCalls } from './sign-in-calls.js';

/** Routes that are not measured, and why. */
export const exceptions: Readonly<Partial<Record<ClusterOperationId | DnsOperationId, string>>> = {
  startSignIn: 'asks the identity provider, and no table',
  finishSignIn: 'asks the identity provider; what it writes is what devSignIn writes, which is measured',
  issueKubeconfig: 'is issued by the garden, which takes most of the time, and only 20 times per hour and cluster',
  adoptServer: 'asks the provider about the server, and rebuilds it',
  getProjectServer: 'asks the provider, after the look-up of the connection that getConnection measures',
  deregisterServer: 'ends what adoptServer began',
  issueJoinCommand: 'is issued by the API server of a cluster, and only 20 times per hour and server',
  signOutEverywhere: 'ends the sessions that the other requests use; revokeSession ends one the same way',
};

export const cycles: readonly Cycle[] = [...clusterReads, ...clusterWrites, ...signInCalls, ...dnsCalls];

/** Routes that are neither measured nor excepted, and exceptions that are measured or are no routes. */
export function gapsIn(measured: readonly Cycle[], excepted: object): string[] {
  const called = new Set<string>(measured.flatMap(({ calls }) => calls.map(({ of }) => of)));
  const routes = new Set<string>([...clusterRoutes, ...dnsRoutes].map(({ operationId }) => operationId));
  return [
    ...[...routes].filter((id) => !called.has(id) && !(id in excepted)).map((id) => `${id} is not measured`),
    ...Object.keys(excepted)
      .filter((id) => called.has(id) || !routes.has(id))
      .map((id) => `${id} is no exception`),
  ];
}
