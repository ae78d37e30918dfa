import { setTimeout as pause } from 'node:timers/promises';
import type fc from 'fast-check';
import type { FaultRule, LocalCloud } from '../system/local-cloud.js';
import { drawer } from './drawer.js';

const RULES_MAX = 8;
const EVERY_MS = 400;

/** Injects drawn faults one after the other until it is told to stop, and leaves none behind. */
export async function breakCloud(
  cloud: Pick<LocalCloud, 'addFaults' | 'clearFaults'>,
  faults: fc.Arbitrary<FaultRule>,
  { seed, isOver }: { readonly seed: number; isOver(): boolean },
): Promise<void> {
  const next = drawer(faults, seed);
  while (!isOver()) {
    for (let rules = 0; rules < RULES_MAX && !isOver(); rules += 1) {
      await cloud.addFaults(next());
      await pause(EVERY_MS);
    }
    await cloud.clearFaults(); // rules without a match would pile up
  }
  await cloud.clearFaults();
}
