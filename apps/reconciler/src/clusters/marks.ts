/*
 * What our Shoots carry besides their specification. The labels are what lists and the watch select by, the annotations
 * say what was declared when the Shoot was last applied.
 */

/** Of all that is only ours, on a Shoot and on its workers. */
export const markPrefix = 'corral.dev/';

export const managedLabel = 'corral.dev/managed';
export const clusterIdLabel = 'corral.dev/cluster-id';
/** On a worker pool and so on its nodes: the name that the team gave it. */
export const poolLabel = 'corral.dev/pool';

export const clusterNameAnnotation = 'corral.dev/cluster-name';
export const teamAnnotation = 'corral.dev/team';
export const planAnnotation = 'corral.dev/plan';
export const generationAnnotation = 'corral.dev/generation';
export const desiredHashAnnotation = 'corral.dev/desired-hash';

/** Selects every Shoot of ours. */
export const managedSelector = `${managedLabel}=true`;

/** The one slot in which a Shoot is told to do something (gardener: docs/usage/shoot-operations). */
export const operationAnnotation = 'gardener.cloud/operation';
