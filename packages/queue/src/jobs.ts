import type { ClusterId, ServerId, WebhookId } from '@corral/contracts';

type Nothing = Record<string, never>;

/** The payload of each job. Payloads identify things by id and contain no state; handlers read the current state. */
export interface JobPayloads {
  /** Run one pass for a cluster. */
  'reconcile-cluster': { readonly clusterId: ClusterId };
  /** Run one pass for an adopted server. */
  'reconcile-server': { readonly serverId: ServerId };
  /** Send the jobs of clusters that are due and have none: they were lost. */
  'sweep-clusters': Nothing;
  /** The same for adopted servers. */
  'sweep-servers': Nothing;
  /** Hibernate and resume clusters whose schedule says so. */
  'follow-schedules': Nothing;
  /** Verify connection tokens with the provider. */
  'verify-connections': Nothing;
  /** Refresh the price lists of connections. */
  'refresh-prices': Nothing;
  /** Count the nodes of clusters. */
  'count-nodes': Nothing;
  /** Remove what deleted connections left in the garden. */
  'clean-up-garden': Nothing;
  /** Keep what names on clusters need in the clusters. */
  'keep-names': Nothing;
  /** Settle DNS writes with an unknown outcome. */
  'settle-writes': Nothing;
  /** Check running actions that no client polls. */
  'look-up-actions': Nothing;
  /** Compare the mirror with the upstream's zone. `runId`: a requested run whose outcome a client follows. The reason is `schedule` by default. */
  'zone-sync': { readonly runId?: string; readonly reason?: 'schedule' | 'start' | 'request' };
  /** End demos that have expired. */
  'expire-demos': Nothing;
  /** Delete the records of ended demos. */
  'clear-demos': Nothing;
  /** Delete record sets that have ended, and remind of those that end soon. */
  'end-rrsets': Nothing;
  /** Delete rows past their retention. */
  'sweep-retention': Nothing;
  /** Add operations that have ended to the totals. */
  'count-operations': Nothing;
  /** Record the usage of teams. */
  'record-usage': Nothing;
  /** Send the mails of invitations and notifications. */
  'send-mails': Nothing;
  /** Find what people get mails about. */
  'find-notifications': Nothing;
  /** Post what a webhook has not had. */
  'deliver-webhook': { readonly webhookId: WebhookId };
  /** Send the jobs of webhooks that are due. */
  'sweep-webhooks': Nothing;
}
export type JobName = keyof JobPayloads;

/**
 * `clusters` and `servers` contain passes, up to one per due row, and stall while the garden or a provider is unavailable. Work on
 * connections and on the garden that must continue then is in `upkeep`. Processes without a garden serve neither `clusters` nor
 * `upkeep`. `mail` is served only by processes with a mail server. `retention` contains runs over all rows or teams, which need neither
 * garden nor upstream. `webhooks` waits for receivers of teams, which may be slow.
 */
export type QueueName = 'dns' | 'clusters' | 'servers' | 'upkeep' | 'mail' | 'retention' | 'webhooks';

/** Intervals that an installation chooses, in milliseconds. */
export interface Intervals {
  readonly sweep: number;
  readonly verify: number;
  readonly sync: number;
  readonly settle: number;
  readonly lookUp: number;
  readonly demos: number;
  readonly mails: number;
}

interface Work {
  readonly queue: QueueName;
  /** The rows in Postgres that say what is to be done. */
  readonly due: string;
  /** Runs once more after a failure, at most so often. Default: the next job is the retry. */
  readonly retries?: { readonly times: number; readonly firstMs: number };
}

/** Sent at an interval, once for all processes together: milliseconds, or one that the installation chooses. It finds what is due. */
export interface Recurring extends Work {
  readonly every: number | keyof Intervals;
  /** Default: none. */
  readonly payload?: object;
}

/** Sent when one row is due, with its id. */
interface OfRow extends Work {
  /** The recurring job that sends it again when it was lost. */
  readonly foundBy: JobName;
}

export type JobRule = Recurring | OfRow;

/**
 * Everything that is done in the background. Rows say what is due; a job only says "look now". A lost job delays its work until the job
 * that finds it again, by one interval at most.
 */
export const jobs = {
  'reconcile-cluster': { queue: 'clusters', due: 'cluster.due_at', foundBy: 'sweep-clusters' },
  'reconcile-server': { queue: 'servers', due: 'adopted_server.due_at', foundBy: 'sweep-servers' },
  'sweep-clusters': { queue: 'upkeep', due: 'cluster.due_at', every: 'sweep' },
  'sweep-servers': { queue: 'servers', due: 'adopted_server.due_at', every: 'sweep' },
  'follow-schedules': { queue: 'upkeep', due: 'cluster.asleep_by_schedule', every: 30_000 },
  'verify-connections': { queue: 'upkeep', due: 'connection.verify_at', every: 'verify' },
  'refresh-prices': { queue: 'upkeep', due: 'price_list.due_at', every: 30_000 },
  'count-nodes': { queue: 'upkeep', due: 'cluster.nodes_due_at', every: 'sweep' },
  'clean-up-garden': { queue: 'upkeep', due: 'garden_cleanup.due_at', every: 30_000 },
  'keep-names': { queue: 'upkeep', due: 'hosted_name.due_at', every: 'sweep' },
  'settle-writes': { queue: 'dns', due: 'pending entries of dns_audit_entry, and rechecks', every: 'settle' },
  'look-up-actions': { queue: 'dns', due: 'running rows of dns_action', every: 'lookUp' },
  'zone-sync': {
    queue: 'dns',
    due: 'dns_sync_run',
    every: 'sync',
    // A process of the release before needs the reason.
    payload: { reason: 'schedule' },
    retries: { times: 2, firstMs: 5_000 },
  },
  'expire-demos': { queue: 'dns', due: 'demo.expires_at', every: 'demos' },
  'clear-demos': { queue: 'dns', due: 'demo.clear_at', every: 'demos' },
  'end-rrsets': { queue: 'dns', due: 'dns_rrset with the label corral/expires', every: 300_000 },
  'sweep-retention': { queue: 'retention', due: 'rows older than their retention', every: 600_000 },
  'count-operations': { queue: 'retention', due: 'operations that have ended', every: 30_000 },
  'record-usage': { queue: 'retention', due: 'usage_hour of all teams', every: 300_000 },
  'send-mails': { queue: 'mail', due: 'invitation.mail_due_at and notification.mail_due_at', every: 'mails' },
  'find-notifications': { queue: 'mail', due: 'what needs attention and has no notification', every: 600_000 },
  'deliver-webhook': { queue: 'webhooks', due: 'webhook.due_at', foundBy: 'sweep-webhooks' },
  'sweep-webhooks': { queue: 'webhooks', due: 'webhook.due_at and newer rows of team_event', every: 3_000 },
} as const satisfies Record<JobName, JobRule>;

export type JobOf<Q extends QueueName> = {
  [N in JobName]: (typeof jobs)[N]['queue'] extends Q ? N : never;
}[JobName];

/** Milliseconds between two of a job. Null for one that is sent only when its row is due. */
export function intervalOf(name: JobName, intervals: Intervals): number | null {
  const rule: JobRule = jobs[name];
  if (!('every' in rule)) return null;
  return typeof rule.every === 'number' ? rule.every : intervals[rule.every];
}
