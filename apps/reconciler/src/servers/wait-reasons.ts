import type { OperationWaiting } from '@corral/contracts';

/** Why an operation about a server does not get on, in one word for programs. */
export type WaitReason =
  /** Something else runs on the server, or the provider has put off what was asked for. */
  | 'ServerBusy'
  /** The answer to the question for a rebuild is lost. */
  | 'OutcomeUnknown'
  | 'ProviderTokenRejected'
  /** Not by the provider, but by us. */
  | 'TokenUnreadable'
  | 'ProviderThrottled'
  | 'ProviderUnavailable'
  /** Of a machine that joins by command: what it is to become a node of. */
  | 'NoNodePool'
  | 'ClusterNotReady'
  | 'ClusterHibernated'
  /** Nobody has run the command there. */
  | 'MachineAwaited'
  | 'NodeNotReady'
  | 'NodeLeaving'
  | 'UpstreamThrottled'
  | 'ClusterUnavailable'
  | 'Retrying';

/** What it waits for, of which since when is not known yet. */
export interface Wait {
  readonly reason: WaitReason;
  /** A sentence for people. */
  readonly message: string;
}

/** What clients are told: since when it waits for this reason, whatever the sentence says meanwhile. */
export function waitingSince(wait: Wait | null, told: OperationWaiting | null, now: Date): OperationWaiting | null {
  if (wait === null) return null;
  return { ...wait, since: told?.reason === wait.reason ? told.since : now.toISOString() };
}
