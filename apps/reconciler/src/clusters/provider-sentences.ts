import type { ClusterErrorCode } from '@corral/contracts';
import type { Desired } from './model.js';

/**
 * What a team reads about a failure: our words, with the team's names for things. Hints come with the code.
 *
 * @param workers names on the garden of the pools that are concerned
 */
export function sentenceFor(code: ClusterErrorCode, desired: Desired, workers: readonly string[] = []): string {
  const pools = desired.pools.filter(({ workerName }) => workers.includes(workerName)).map(({ name }) => name);
  return `${sentences[code](desired)}${pools.length === 0 ? '' : ` Concerned: ${poolsText(pools)}.`}`;
}

export function poolsText(names: readonly string[]): string {
  return names.length === 1 ? `node pool ${names[0]}` : `node pools ${names.join(', ')}`;
}

const sentences: Record<ClusterErrorCode, (desired: Desired) => string> = {
  provider_token_rejected: ({ connection }) =>
    `The provider does not accept the token of connection ${connection.ref}.`,
  provider_permission_denied: ({ connection }) =>
    `The token of connection ${connection.ref} ${connection.isReadOnly ? 'may only read' : 'lacks rights'} at the provider.`,
  provider_quota_exceeded: () => 'A limit of the cloud project is reached.',
  provider_rate_limited: () => 'The provider has received too many requests for this cloud project.',
  provider_capacity: () => 'The provider has no servers of a machine type left in this region.',
  provider_dependency: () => 'Resources in the cloud project are in the way, or are still in use.',
  cleanup_blocked: () => 'Objects in the cluster cannot be deleted.',
  webhook_blocks: () => 'An admission webhook in the cluster blocks the system.',
  configuration_problem: () => 'The cluster cannot be brought about as it is declared.',
  refused_by_garden: () => 'The specification was refused.',
  platform_quota_exceeded: () => 'A limit of this platform is reached. The change waits until there is room.',
  field_conflict: () => 'Somebody else keeps changing what is declared here.',
  name_collision: () => 'The name that this cluster has on the garden belongs to another one.',
  shoot_missing: () => 'The cluster is no longer there, and this service did not remove it. It is not made again.',
  internal_error: () =>
    'The cluster could not be brought to what is declared. The reason is in the logs of this service.',
};
