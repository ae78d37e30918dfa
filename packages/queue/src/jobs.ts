/** The queues, and what travels in them. A payload names things by id and holds no state: what changed is read anew. */
export interface JobPayloads {
  /** Find out what became of DNS writes whose answer never came. */
  'settle-writes': Record<string, never>;
  /** Ask how actions got on whose end no client asks for. */
  'look-up-actions': Record<string, never>;
  /** Compare the mirror with the upstream's zone. `runId`: the requested run, whose outcome somebody waits for. */
  'zone-sync': { readonly runId?: string; readonly reason: 'schedule' | 'start' | 'request' };
  /** Give the demos whose time is over their end. */
  'expire-demos': Record<string, never>;
  /** Delete the records that ended demos left behind. */
  'clear-demos': Record<string, never>;
  /** Let one pass look at a cluster. `foundBy` is for metrics only: this cluster was due and no wake-up of it waited. */
  'reconcile-cluster': { readonly clusterId: string; readonly foundBy?: 'sweep' };
  /** Let one pass look at an adopted server. */
  'reconcile-server': { readonly serverId: string; readonly foundBy?: 'sweep' };
  /** Send wake-ups for all adopted servers that are due. */
  'sweep-servers': Record<string, never>;
  /** Send wake-ups for all clusters that are due. */
  'sweep-clusters': Record<string, never>;
  /** Ask the provider about the tokens of connections that are to be verified. */
  'verify-connections': Record<string, never>;
  /** Read the price lists of connections that are due. */
  'refresh-prices': Record<string, never>;
  /** Count the nodes of clusters that are due. */
  'count-nodes': Record<string, never>;
  /** Remove from the garden what deleted connections left there. */
  'clean-up-garden': Record<string, never>;
  /** Delete rows that nobody will ask for any more. */
  'sweep-retention': Record<string, never>;
  /** Send the mails of invitations that are due. */
  'send-mails': Record<string, never>;
}
export type JobName = keyof JobPayloads;

export interface JobRule {
  readonly queue: QueueName;
  /** Runs in all until one succeeds. With 1 the next wake-up or schedule is the retry. */
  readonly attempts: number;
  /** Before the second run; doubles from run to run, with jitter. */
  readonly backoffMs: number;
}
/**
 * `clusters` holds passes and nothing else, as many as there are clusters due, and stands still while the garden is
 * away. What must go on then is in `upkeep`. `servers` holds the passes of adopted servers, which wait for providers; `mail` is served by
 * those who know a mail server; `retention` by all, and a long sweep keeps nothing else waiting.
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
  'send-mails': { queue: 'mail', attempts: 1, backoffMs: 0 },
} as const satisfies Record<JobName, JobRule>;

/** The jobs that travel in a queue. */
export type JobOf<Q extends QueueName> = {
  [N in JobName]: (typeof jobRules)[N]['queue'] extends Q ? N : never;
}[JobName];
