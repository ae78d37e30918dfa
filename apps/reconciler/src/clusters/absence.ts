import type { Desired } from './model.js';

/**
 * For so long an apply whose answer was lost may still make a Shoot: API servers end a request after 60 s at the latest
 * (kube-apiserver, `--request-timeout`).
 */
export const lateCreationMs = 70_000;

/** The condition that counts from when on no Shoot was seen. Its type is used for nothing else. */
export const absenceConditionType = 'AbsenceConfirmed';

/**
 * From when on an absent Shoot that was never seen cannot appear any more, as far as the absence was recorded; null when
 * the first look is still to be recorded.
 *
 * Only the deletion of a cluster asks: a Shoot that appeared after the row is gone would belong to nobody, and cost.
 */
export function absenceIsCertainAt(desired: Desired): Date | null {
  const { shootUid, conditions } = desired.known;
  if (shootUid !== null) return new Date(0);
  const waiting = conditions.find(({ type }) => type === absenceConditionType);
  if (waiting !== undefined) return new Date(Date.parse(waiting.lastTransitionTime) + lateCreationMs);
  return mayHaveBeenApplied(desired) ? null : new Date(0);
}

/** Without these no apply is rendered. That one was refused proves nothing: the answer that was lost is another's. */
function mayHaveBeenApplied({ namespace, pinnedVersion, connection }: Desired): boolean {
  return namespace !== null && pinnedVersion !== null && connection.gardenTokenVersion > 0;
}
