import type { Turns } from '../loop/lease-store.js';

/**
 * A cluster becomes one that is worked on with the first pool that the garden can have: without workers a Shoot could
 * never get any (see "workerless" in Gardener's documentation).
 */
export const clusterTurns: Turns = {
  table: 'cluster',
  isWorkedOn: `(started_at IS NOT NULL OR EXISTS (
    SELECT 1 FROM node_pool WHERE cluster_id = cluster.id AND source = 'managed' AND maximum > 0))`,
  onTaken: ', started_at = coalesce(started_at, clock_timestamp())',
};
