import { equalJson } from '../../kube/object.js';
import { annotationNames, isTrue, operationsIn } from '../annotations.js';
import { type Shoot, wantsHibernation } from './shoot.js';

/**
 * Decides whether a write begins a new generation, and takes away an operation annotation that it acts on
 * (`pkg/apiserver/registry/core/shoot/strategy.go`). Labels and other annotations do not count.
 */
export function raiseGeneration(shoot: Shoot, old: Shoot): void {
  const raised = [
    specCounts(shoot, old),
    old.metadata.deletionTimestamp === undefined && shoot.metadata.deletionTimestamp !== undefined,
    !isTrue(old.metadata.annotations?.[annotationNames.forceDeletion]) &&
      isTrue(shoot.metadata.annotations?.[annotationNames.forceDeletion]),
  ].some(Boolean);
  const asked = !raised && takeOperation(shoot);
  const { generation = 1 } = old.metadata;
  shoot.metadata.generation = raised || asked ? generation + 1 : generation;
}

function specCounts(shoot: Shoot, old: Shoot): boolean {
  if (shoot.spec.maintenance?.confineSpecUpdateRollout === true) {
    return wantsHibernation(shoot.spec) !== wantsHibernation(old.spec);
  }
  return !equalJson(shoot.spec, old.spec);
}

/** `retry` is heeded in Failed only, everything else only outside of it. */
function takeOperation({ metadata, status }: Shoot): boolean {
  const operations = operationsIn(metadata.annotations);
  if (operations.length === 0 || status.lastOperation === undefined) return false;
  const failed = status.lastOperation.state === 'Failed';
  const heeded = failed ? 'retry' : 'reconcile';
  const isHeeded = failed ? operations.join(';') === heeded : operations.includes(heeded);
  if (isHeeded) {
    const left = operations.filter((operation) => operation !== heeded);
    if (left.length === 0) delete metadata.annotations?.[annotationNames.operation];
    else metadata.annotations = { ...metadata.annotations, [annotationNames.operation]: left.join(';') };
  }
  // A rotation stays where it is until the gardenlet has performed it.
  return isHeeded || (!failed && operations.some((operation) => /^(rotate|rollout)-/.test(operation)));
}
