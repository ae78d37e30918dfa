import type { Desired, Known } from './model.js';
import { marksOf, renderedPools } from './render-shoot.js';
import type { ShootFacts } from './shoot-facts.js';

/*
 * What the garden's runs mean for a declared generation. A run begins by taking note of the Shoot's own generation
 * (`observedGeneration`), so that number says what has begun, and only together with `lastOperation` what has ended.
 */

/** The runs that bring about a specification; the others move or delete. */
const converging = ['Create', 'Reconcile', 'Restore'];

/** A read that is older than our last write: generations never fall. */
export function isStale(known: Known, { generation }: ShootFacts): boolean {
  return known.appliedShootGeneration !== null && generation < known.appliedShootGeneration;
}

/** A change of the specification, or an order to run, that no run has begun with. */
export function isRunDue({ generation, observedGeneration }: ShootFacts): boolean {
  return observedGeneration < generation;
}

/** The garden gave up on the Shoot as it is now. A failure from before the last change does not count. */
export function hasFailed(facts: ShootFacts): boolean {
  return facts.lastOperation?.state === 'Failed' && !isRunDue(facts);
}

/**
 * The declared generation that the Shoot has converged to, or null while it is on the way.
 *
 * Our write must have been observed, the run must have succeeded, and it must have ended after that write: right after a
 * write the Shoot still shows its old success. And nothing may have changed since that run began: it could have been one
 * with somebody else's edit, which was taken back meanwhile. Whether the Shoot is what was declared, drift tells.
 */
export function convergedGeneration(desired: Desired, facts: ShootFacts): number | null {
  const { known } = desired;
  const { applied, lastOperation } = facts;
  if (applied === null || lastOperation === null || facts.isDeleting) return null;
  if (isStale(known, facts) || isRunDue(facts)) return null;
  if (applied.generation !== known.appliedGeneration || known.appliedShootGeneration === null) return null;
  if (lastOperation.state !== 'Succeeded' || !converging.includes(lastOperation.type)) return null;
  return endedBefore(lastOperation.updatedAt, known.appliedAt) ? null : applied.generation;
}

/** Compares the garden's times, which are whole seconds. */
function endedBefore(end: Date | null, write: Date | null): boolean {
  return end !== null && write !== null && end.getTime() < Math.floor(write.getTime() / 1_000) * 1_000;
}

/**
 * Whether the Shoot carries the present declaration, and we know so from the garden's answer. An answer that was lost is
 * asked for again by another apply, which changes nothing if all is as it was left, and mends it otherwise.
 */
export function isApplied(desired: Desired, { applied, isHeld, ...facts }: ShootFacts): boolean {
  const { generation, desiredHash, known } = desired;
  if (applied === null || applied.generation !== generation || applied.hash !== desiredHash) return false;
  if (!isHeld || !isMarked(desired, facts)) return false;
  return known.appliedGeneration === generation && known.appliedShootGeneration !== null;
}

/** Our own labels and annotations are put back, whoever took them away. */
function isMarked(desired: Desired, { marks, workers }: Pick<ShootFacts, 'marks' | 'workers'>): boolean {
  const { labels, annotations } = marksOf(desired);
  if (!Object.entries({ ...labels, ...annotations }).every(([key, value]) => marks[key] === value)) return false;
  return renderedPools(desired.pools).every(({ workerName, name }) => {
    const worker = workers.find((each) => each.name === workerName);
    return worker === undefined || worker.pool === name;
  });
}
