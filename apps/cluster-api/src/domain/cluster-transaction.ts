import type { AuditAction, ClusterSpec, ConnectionPhase } from '@corral/contracts';
import type { AcceptedStatus } from './accepted-status.js';
import type { Caller } from './caller.js';
import type { Claims, PoolServer } from './claim-servers.js';
import type { ClusterRecord, OperationRecord } from './cluster-record.js';
import type { AcceptedDeclaration } from './decide-declaration.js';
import type { KeyedRequest } from './keyed-request.js';
import type { KnownPrices } from './prices.js';
import type { QuotaOverrides } from './quotas.js';

/** What a change of a cluster needs of the store, while the changes of the team and the cluster are held. */
export interface ClusterTransaction {
  /** Null when the team has no cluster by that name. */
  readonly current: ClusterRecord | null;
  /** The database's clock, read under the lock. */
  readonly now: Date;
  readonly quotaOverrides: QuotaOverrides;
  readonly clustersOfTeam: number;
  readonly hasActiveSubscription: boolean;
  findConnection(ref: string): Promise<UsableConnection | null>;
  findOperation(id: string): Promise<OperationRecord | null>;
  /**
   * Notes that the request makes the operation of this id.
   *
   * @returns null when the request is new, else the id that its first copy was to make
   */
  claimKey(request: KeyedRequest, operationId: string): Promise<string | null>;
  /** All that the team has adopted over the connection, held until the transaction ends. */
  findServers(connectionRef: string): Promise<PoolServer[]>;
  /** Writes the change, its operation, the end of operations that it overtakes, and the audit entry. */
  accept(accepted: Acceptance): Promise<{ cluster: ClusterRecord; operation: OperationRecord }>;
  /** Deletes a cluster that the garden has not heard of, and cancels its operations. */
  removeDraft(claims: Claims): Promise<void>;
}

/** What of a connection decides about a cluster on it. */
export interface UsableConnection {
  readonly id: string;
  readonly phase: ConnectionPhase;
  /** Null until they were read. */
  readonly prices: KnownPrices | null;
}

export interface Acceptance extends Pick<AcceptedDeclaration, 'operation' | 'generation' | 'desiredHash' | 'isDraft'> {
  readonly operationId: string;
  readonly effect: Effect;
  /** What is shown until a pass has looked at the cluster. */
  readonly shown: AcceptedStatus;
  /** The adopted servers that change hands with it. */
  readonly claims: Claims;
  /** Dotted, for the audit log. */
  readonly action: AuditAction;
  /** For the audit log, never a secret. */
  readonly detail: Readonly<Record<string, string | number>>;
}

export type Effect =
  | {
      readonly kind: 'declare';
      readonly spec: ClusterSpec;
      /** Of its node pools, by name. */
      readonly priorities: ReadonlyMap<string, number>;
      readonly connectionId: string;
    }
  /** The specification stays, and is tried once more. */
  | { readonly kind: 'retry' }
  | { readonly kind: 'delete' };

export interface ClusterChanges {
  /**
   * Runs `work` in one transaction that holds the changes of the team, and then the cluster: changes of one team come one after the
   * other, so quotas and names hold. What it throws undoes everything. `work` may run again after a chance collision of
   * generated names, and calls nothing outside.
   */
  change<T>(caller: Caller, name: string, work: (tx: ClusterTransaction) => Promise<T>): Promise<T>;
}
