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
    `The token of connection ${connection.ref} ${connection.isReadOnly ? 'is read-only' : 'lacks permissions'} at the provider.`,
  provider_quota_exceeded: () => 'A limit of the cloud project has been reached.',
  provider_rate_limited: () => 'The provider has received too many requests for this cloud project.',
  provider_capacity: () => 'The provider has no capacity left for a machine type in this region.',
  provider_dependency: () => 'Resources in the cloud project block the change, or are still in use.',
  cleanup_blocked: () => 'Objects in the cluster cannot be deleted.',
  webhook_blocks: () => 'An admission webhook in the cluster blocks the system.',
  configuration_problem: () => 'The cluster cannot be created or changed as declared.',
  refused_by_garden: () => 'The specification was refused.',
  platform_quota_exceeded: () => 'A limit of this platform has been reached. The change waits until there is capacity.',
  field_conflict: () => 'Another manager keeps changing fields that are declared here.',
  name_collision: () => 'The name of this cluster in the garden belongs to another cluster.',
  shoot_missing: () => 'The cluster no longer exists, and this service did not delete it. It is not created again.',
  internal_error: () => 'The cluster could not reach its declared state. The reason is in the logs of this service.',
};
