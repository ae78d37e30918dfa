/*
 * Labels and annotations of our Shoots. Lists and the watch select by the labels. The annotations hold what was
 * declared when the Shoot was last applied.
 */

/** Prefix of all labels and annotations of Corral on Shoots and their workers. */
export const corralPrefix = 'corral.dev/';

export const managedLabel = 'corral.dev/managed';
export const clusterIdLabel = 'corral.dev/cluster-id';
/** On a worker pool and therefore on its nodes: the pool name that the team chose. */
export const poolLabel = 'corral.dev/pool';

export const clusterNameAnnotation = 'corral.dev/cluster-name';
export const teamAnnotation = 'corral.dev/team';
export const planAnnotation = 'corral.dev/plan';
export const generationAnnotation = 'corral.dev/generation';
export const desiredHashAnnotation = 'corral.dev/desired-hash';

/** Selects all Shoots of Corral. */
export const managedSelector = `${managedLabel}=true`;

/** Requests an operation on a Shoot. Holds one request at a time (gardener: docs/usage/shoot-operations). */
export const operationAnnotation = 'gardener.cloud/operation';
