import type { KnownPrices, OperationRecord } from '@corral/cluster-data';
import type {
  AuditAction,
  ClusterSpec,
  ConnectionId,
  ConnectionPhase,
  FieldChange,
  OperationId,
  TeamId,
} from '@corral/contracts';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import type { Claims, PoolServer } from '../node-pools/claim-servers.js';
import type { AcceptedStatus } from './accepted-status.js';
import type { ClusterRecord } from './record.js';
import type { ClusterQuery } from './rows.js';
import type { AcceptedDeclaration } from './spec/decide-declaration.js';
import type { QuotaOverrides } from './spec/quotas.js';

/** What decides about a change of a cluster. */
export interface ClusterView {
  /** Null when the team has no cluster with that name. */
  readonly current: ClusterRecord | null;
  /** The database's clock. */
  readonly now: Date;
  readonly quotaOverrides: QuotaOverrides;
  readonly clustersOfTeam: number;
  readonly hasActiveSubscription: boolean;
  findConnection(ref: string): Promise<UsableConnection | null>;
  /** All servers that the team adopted over the connection. */
  findServers(connectionRef: string): Promise<PoolServer[]>;
}

/** What a change of a cluster needs from the store. The team's changes, the cluster and found servers are locked meanwhile. */
export interface ClusterTransaction extends ClusterView {
  findOperation(id: OperationId): Promise<OperationRecord | null>;
  /**
   * Stores that the request creates the operation with this id.
   *
   * @returns null when the request is new, else the operation id of the first request with this key
   */
  registerKey(request: KeyedRequest, operationId: OperationId): Promise<OperationId | null>;
  /** Writes the change, its operation and the audit entry, and ends superseded operations. */
  accept(accepted: AcceptedChange): Promise<{ cluster: ClusterRecord; operation: OperationRecord }>;
  /** Deletes a cluster that the garden does not know, and cancels its operations. */
  removeDraft(claims: Claims): Promise<void>;
}

/** The fields of a connection that decide about clusters on it. */
export interface UsableConnection {
  readonly id: ConnectionId;
  readonly phase: ConnectionPhase;
  /** Null until first read. */
  readonly prices: KnownPrices | null;
}

export interface AcceptedChange
  extends Pick<AcceptedDeclaration, 'operation' | 'generation' | 'desiredHash' | 'isDraft'> {
  readonly operationId: OperationId;
  readonly effect: Effect;
  /** The status shown until a pass observes the cluster. */
  readonly shown: AcceptedStatus;
  /** The adopted servers that the change claims and releases. */
  readonly claims: Claims;
  /** Dotted, for the audit log. */
  readonly action: AuditAction;
  /** What the change does to the declaration, for the audit log. */
  readonly changes: readonly FieldChange[] | null;
  /** For the audit log. Contains no secrets. */
  readonly detail: Readonly<Record<string, string | number>>;
}

export type Effect =
  | {
      readonly kind: 'declare';
      readonly spec: ClusterSpec;
      /** Autoscaler priorities of the node pools, by name. */
      readonly priorities: ReadonlyMap<string, number>;
      readonly connectionId: ConnectionId;
    }
  /** Tries the unchanged specification again. */
  | { readonly kind: 'retry' }
  | { readonly kind: 'delete' };

export interface ClusterStore {
  find(teamId: TeamId, name: string): Promise<ClusterRecord | null>;
  /** In the order of their names, starting after the name `after`. */
  list(teamId: TeamId, query: ClusterQuery): Promise<ClusterRecord[]>;
  /**
   * Runs `work` in one transaction that locks the team's changes, then the cluster. Changes of one team are serialized,
   * so quotas and unique names hold. An error rolls everything back. `work` may run again after a collision of
   * generated names, so it must not make outside calls.
   */
  change<T>(caller: Caller, name: string, work: (tx: ClusterTransaction) => Promise<T>): Promise<T>;
  /** Runs `work` on what a change would find. It waits for no change of the team, and none waits for it. */
  preview<T>(caller: Caller, name: string, work: (view: ClusterView) => Promise<T>): Promise<T>;
}
