import { createHash } from 'node:crypto';
import type { Shoot } from '@corral/garden';
import { factsOf } from './shoot-facts.js';

/** Progress is news in steps of so many percent. */
const progressStep = 10;

/**
 * A digest of the facts that can move anything: a Shoot whose digest is the same needs no pass. It is made of what
 * `factsOf` keeps, less the times, which every heartbeat and each attempt moves, less who holds which field, which moves
 * nothing without a change of what is held, and less the progress of `Reconcile`:
 * the garden reconciles every cluster again and again, and for most of them nobody waits.
 *
 * @returns hex
 */
export function observedHash(shoot: Shoot): string {
  const { lastOperation, retryCycleStartedAt: _, managers: __, ...facts } = factsOf(shoot);
  const operation = lastOperation && {
    type: lastOperation.type,
    state: lastOperation.state,
    progress: lastOperation.type === 'Reconcile' ? null : Math.floor(lastOperation.progress / progressStep),
  };
  return createHash('sha256').update(JSON.stringify({ facts, operation })).digest('hex');
}
