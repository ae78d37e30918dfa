import type { Shoot } from '@corral/garden';
import type { Desired, Known, Observed } from './model.js';
import { isRunDue } from './run.js';
import { factsOf } from './shoot-facts.js';

export type Learned = Pick<
  Known,
  | 'shootUid'
  | 'appliedGeneration'
  | 'appliedShootGeneration'
  | 'appliedAt'
  | 'appliedTokenVersion'
  | 'retriedGeneration'
>;

/**
 * What is to be recorded once the garden has answered a write.
 *
 * `appliedAt` and the token's version move only when a run is to follow: a write that changes annotations alone is done
 * at once, and no later run would ever end after it.
 *
 * @param at the garden's clock at the write
 */
export function learnedFrom(
  step: 'applyShoot' | 'reconcileShoot' | 'retryShoot',
  desired: Desired,
  answered: Shoot,
  at: Date | null,
): Learned {
  const { known, connection, generation } = desired;
  const facts = factsOf(answered);
  const isFollowed = isRunDue(facts);
  return {
    shootUid: facts.uid,
    appliedGeneration: step === 'applyShoot' ? generation : known.appliedGeneration,
    appliedShootGeneration: Math.max(facts.generation, known.appliedShootGeneration ?? 0),
    appliedAt: isFollowed ? at : known.appliedAt,
    appliedTokenVersion: isFollowed ? connection.gardenTokenVersion : known.appliedTokenVersion,
    retriedGeneration: step === 'retryShoot' ? generation : known.retriedGeneration,
  };
}

/** What is to be recorded of a read: an apply whose answer was lost has made the Shoot all the same. */
export function learnedFromRead({ known }: Desired, seen: Observed): Learned {
  const { shootUid, appliedGeneration, appliedShootGeneration, appliedAt, appliedTokenVersion, retriedGeneration } =
    known;
  return {
    shootUid: shootUid ?? (seen.kind === 'present' ? seen.shoot.metadata.uid : null),
    ...{ appliedGeneration, appliedShootGeneration, appliedAt, appliedTokenVersion, retriedGeneration },
  };
}
