import type { Desired, OpenOperation } from './model.js';
import type { ShootFacts } from './shoot-facts.js';

/** 100 is for what has succeeded. */
const progressMax = 99;

/**
 * Progress of an operation that goes on. The garden's own begins anew with each attempt and counts other tasks each
 * time, so what was once shown is never taken back.
 *
 * @param run the Shoot while a run for this operation is under way, else null
 */
export function progressOf(operation: OpenOperation, run: ShootFacts | null): number {
  return Math.max(operation.progress, Math.min(progressMax, Math.max(0, run?.lastOperation?.progress ?? 0)));
}

/**
 * When to look again at what is on the way. That something has ended comes by the watch, and sooner; this is the safety
 * net, and what keeps the progress fresh that somebody may be looking at.
 *
 * @returns milliseconds
 */
export function lookAgainMsFor({ operation }: Desired): number {
  return operation === null ? 60_000 : 15_000;
}
