import { type GardenClient, isGardenError, type NodeReading } from '@corral/garden';
import { spreadMs } from '../loop/backoff.js';
import { inBatches } from '../loop/in-batches.js';
import type { CountStore, DueCount, NodeCounts } from './count-store.js';
import { poolLabel } from './marks.js';

export interface CountDeps {
  readonly store: CountStore;
  readonly garden: Pick<GardenClient, 'listNodes'>;
  /** Between two counts of a cluster of which there are no news. */
  readonly intervalMs: number;
  readonly onCounted: (outcome: 'counted' | 'away' | 'unknown') => void;
  readonly random?: () => number;
}

/** Each may hold an answer of 8 MiB. */
const BATCH = 8;
/** API servers of clusters are as quick as their administrators leave them: none holds the others up for longer. */
const ANSWER_MS = 10_000;
const CLAIM_MS = 60_000;
/** A cluster that does not answer is asked again sooner: until then nobody knows. */
const AGAIN_MS = 60_000;

/**
 * Counts the nodes of clusters about which the garden had news, or that were counted some minutes ago. A Shoot does not tell
 * of its nodes, so its own API server is asked, apart from passes: those wait for no API server but the garden's.
 *
 * @returns how many were asked
 */
export const countNodes =
  (deps: CountDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, CLAIM_MS);
    return inBatches({ claim, work: (due) => countOne(deps, due, signal), size: BATCH }, signal);
  };

async function countOne(deps: CountDeps, due: DueCount, signal: AbortSignal): Promise<void> {
  const { store, garden, intervalMs, onCounted, random = Math.random } = deps;
  const { shoot, poolNames } = due;
  if (shoot === null) {
    onCounted('away');
    return store.record(due, { counts: null, againMs: null });
  }
  try {
    const nodes = await garden.listNodes(shoot, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]));
    onCounted('counted');
    await store.record(due, { counts: countsOf(nodes, poolNames), againMs: spreadMs(intervalMs, random()) });
  } catch (error) {
    if (!isGardenError(error)) throw error;
    // Whoever stops has learnt nothing: the claim ends, and another one counts.
    if (signal.aborted) return;
    onCounted('unknown');
    await store.record(due, { counts: null, againMs: spreadMs(Math.min(intervalMs, AGAIN_MS), random()) });
  }
}

/** Nodes of managed pools have the label by their worker pool, adopted servers get it when they join. */
export function countsOf(nodes: readonly NodeReading[], poolNames: readonly string[]): NodeCounts {
  return Object.fromEntries(
    poolNames.map((name) => {
      const own = nodes.filter(({ labels }) => labels[poolLabel] === name);
      return [name, { ready: own.filter(({ isReady }) => isReady).length, total: own.length }];
    }),
  );
}
