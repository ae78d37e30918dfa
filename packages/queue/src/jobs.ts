import type { ClusterId, ServerId } from '@corral/contracts';
/** The payload of each job. Payloads identify things by id and hold no state; handlers read the current state. */
export interface JobPayloads {
  /** Settle DNS writes with an unknown outcome. */
  'settle-writes': Record<string, never>;
  /** Check running actions that no client polls. */
  'look-up-actions': Record<string, never>;
  /** Compare the mirror with the upstream's zone. `runId`: a requested run whose outcome a client follows. */
  'zone-sync': { readonly runId?: string; readonly reason: 'schedule' | 'start' | 'request' };
  /** End demos that have expired. */
  'expire-demos': Record<string, never>;
  /** Delete the records of ended demos. */
  'clear-demos': Record<string, never>;
  /** Run one pass for a cluster. `foundBy` is for metrics only: the sweep found the cluster due without a wake-up. */
  'reconcile-cluster': { readonly clusterId: ClusterId; readonly foundBy?: 'sweep' };
  /** Run one pass for an adopted server. */
  'reconcile-server': { readonly serverId: ServerId; readonly foundBy?: 'sweep' };
  /** Send wake-ups for all adopted servers that are due. */
  'sweep-servers': Record<string, never>;
  /** Send wake-ups for all clusters that are due. */
  'sweep-clusters': Record<string, never>;
  /** Verify connection tokens with the provider where due. */
  'verify-connections': Record<string, never>;
  /** Refresh the price lists of connections where due. */
  'refresh-prices': Record<string, never>;
  /** Count the nodes of clusters where due. */
  'count-nodes': Record<string, never>;
  /** Remove what deleted connections left in the garden. */
  'clean-up-garden': Record<string, never>;
  /** Delete rows past their retention. */
  'sweep-retention': Record<string, never>;
  /** Add operations that have ended to the totals. */
  'count-operations': Record<string, never>;
  /** Record the usage of teams. */
  'record-usage': Record<string, never>;
  /** Send the due mails of invitations. */
  'send-mails': Record<string, never>;
}
export type JobName = keyof JobPayloads;

export interface JobRule {
  readonly queue: QueueName;
  /** Maximum number of runs. With 1, the next wake-up or schedule is the retry. */
  readonly attempts: number;
  /** Delay before the second run in ms; doubles with each run, with jitter. */
  readonly backoffMs: number;
}
/**
 * `clusters` holds passes only, up to one per due cluster, and stalls while the garden is unavailable. Work that must
 * continue then is in `upkeep`. `servers` holds the passes of adopted servers, which wait for providers. `mail` is
 * served only by processes with a mail server. `retention` holds runs over all rows or teams, which may take long and must
 * block no other job.
 */
export type QueueName = 'dns' | 'clusters' | 'servers' | 'upkeep' | 'mail' | 'retention';

export const jobRules = {
  'settle-writes': { queue: 'dns', attempts: 1, backoffMs: 0 },
  'look-up-actions': { queue: 'dns', attempts: 1, backoffMs: 0 },
  'zone-sync': { queue: 'dns', attempts: 3, backoffMs: 5_000 },
  'expire-demos': { queue: 'dns', attempts: 1, backoffMs: 0 },
  'clear-demos': { queue: 'dns', attempts: 1, backoffMs: 0 },
  'reconcile-cluster': { queue: 'clusters', attempts: 1, backoffMs: 0 },
  'reconcile-server': { queue: 'servers', attempts: 1, backoffMs: 0 },
  'sweep-servers': { queue: 'servers', attempts: 1, backoffMs: 0 },
  'sweep-clusters': { queue: 'upkeep', attempts: 1, backoffMs: 0 },
  'verify-connections': { queue: 'upkeep', attempts: 1, backoffMs: 0 },
  'refresh-prices': { queue: 'upkeep', attempts: 1, backoffMs: 0 },
  'count-nodes': { queue: 'upkeep', attempts: 1, backoffMs: 0 },
  'clean-up-garden': { queue: 'upkeep', attempts: 1, backoffMs: 0 },
  'sweep-retention': { queue: 'retention', attempts: 1, backoffMs: 0 },
  'count-operations': { queue: 'retention', attempts: 1, backoffMs: 0 },
  'record-usage': { queue: 'retention', attempts: 1, backoffMs: 0 },
  'send-mails': { queue: 'mail', attempts: 1, backoffMs: 0 },
} as const satisfies Record<JobName, JobRule>;

/** The jobs of a queue. */
export type JobOf<Q extends QueueName> = {
  [N in JobName]: (typeof jobRules)[N]['queue'] extends Q ? N : never;
}[JobName];
