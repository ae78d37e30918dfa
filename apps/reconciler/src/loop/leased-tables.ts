import type { ClusterId, ServerId } from '@corral/contracts';
import { causedByGarden, waitsForGarden } from '../clusters/judge/waiting.js';
import type { LeasedTable } from './leases.js';

/** SQL condition for the clusters that wait for one of the reasons. Null for those that wait for nothing. */
const waitsFor = (reasons: readonly string[]): string =>
  `(waiting->>'reason' IN (${reasons.map((reason) => `'${reason}'`).join(', ')}))`;

/**
 * Work on a cluster starts with its first pool that the garden can have: a Shoot without workers can never get any (see
 * "workerless" in Gardener's documentation).
 */
export const clusterTable: LeasedTable<ClusterId> = {
  table: 'cluster',
  isWorkedOn: `(started_at IS NOT NULL OR EXISTS (
    SELECT 1 FROM node_pool WHERE cluster_id = cluster.id AND source = 'managed' AND maximum > 0))`,
  waitsForGarden: waitsFor(waitsForGarden),
  isHeldUp: `coalesce(${waitsFor(causedByGarden)}, false)`,
  onTaken: ', sighted_hash = NULL, started_at = coalesce(started_at, clock_timestamp())',
  isReported: 'sighted_hash IS NOT NULL',
};

/** Only servers that are nodes, or about to be, need the garden. */
const isFailingNode = '(failures > 0 AND (node_pool_id IS NOT NULL OR member_of_id IS NOT NULL))';

export const serverTable: LeasedTable<ServerId> = {
  table: 'adopted_server',
  isWorkedOn: 'true',
  waitsForGarden: isFailingNode,
  isHeldUp: isFailingNode,
  onTaken: '',
  isReported: 'false',
};
