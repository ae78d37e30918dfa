import type { Desired, Verdict } from '../../../src/clusters/model.js';

/** Checks the rules that every verdict obeys. @throws Error for a violated one */
export function checkVerdict(desired: Desired, verdict: Verdict, now: Date): void {
  const { known, operation, generation } = desired;
  const { operation: outcome, observedGeneration, conditions } = verdict;
  if (observedGeneration < known.observedGeneration) throw new Error('observedGeneration falls');
  if (observedGeneration > generation) throw new Error('observedGeneration is ahead');
  if (outcome.to === 'running') {
    if (outcome.progress < (operation?.progress ?? 0)) throw new Error('progress falls');
    if (outcome.progress > 99) throw new Error('progress is complete before it is');
  }
  for (const { type, status, lastTransitionTime } of conditions) {
    const before = known.conditions.find((each) => each.type === type);
    const isSame = before?.lastTransitionTime === lastTransitionTime;
    if (before !== undefined && isSame !== (before.status === status) && lastTransitionTime !== now.toISOString()) {
      throw new Error(`${type}: the time of its transition is not that of its status`);
    }
  }
  if (new Set(conditions.map(({ type }) => type)).size < conditions.length)
    throw new Error('a condition is there twice');
  if (/secret/.test(JSON.stringify(verdict))) throw new Error('reveals internals of the garden');
}
