import type { Desired, OpenOperation } from '../model.js';
import type { ShootFacts } from '../observe.js';

/** 100 is reserved for success. */
const progressMax = 99;

/**
 * Progress of a running operation. The garden's own progress restarts with each attempt and counts different tasks each time,
 * so progress that was shown once never decreases.
 *
 * @param run the Shoot while a run for this operation is in progress, else null
 */
export function progressOf(operation: OpenOperation, run: ShootFacts | null): number {
  return Math.max(operation.progress, Math.min(progressMax, Math.max(0, run?.lastOperation?.progress ?? 0)));
}

/**
 * Delay of the next pass while work is in progress. The watch usually reports the end earlier. This is the safety net, and keeps the
 * displayed progress fresh.
 *
 * @returns milliseconds
 */
export function nextPassMsFor({ operation }: Desired): number {
  return operation === null ? 60_000 : 15_000;
}
