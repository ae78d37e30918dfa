import type { SealedToken } from '@corral/cluster-data';
import type { AdoptedServerSpec, ConnectionId, ConnectionPhase, OperationId } from '@corral/contracts';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import type { AdoptedServerRecord } from './body.js';

export interface ServerConnection {
  readonly id: ConnectionId;
  readonly ref: string;
  readonly phase: ConnectionPhase;
  readonly sealed: SealedToken;
}

/** A server and the operation that a request created or found for it. */
export interface ServerOutcome {
  readonly server: AdoptedServerRecord;
  readonly operationId: OperationId;
}

/** Changes of the servers of one connection. The team's changes are serialized. */
export interface ServerTransaction {
  find(serverId: number): Promise<AdoptedServerRecord | null>;
  /** The number of the team's servers over all connections. */
  count(): Promise<number>;
  /** The team's quota override. Null without one. */
  readonly quota: number | null;
  /** @returns null when the request is new, else the operation id of the first request with this key */
  registerKey(request: KeyedRequest | null, operationId: OperationId): Promise<OperationId | null>;
  /**
   * Writes the intent, its operation and the audit entry.
   *
   * @throws ServerTaken when another team has adopted the server
   */
  insert(spec: AdoptedServerSpec, name: string, operationId: OperationId): Promise<AdoptedServerRecord>;
  /** The same for a failed server that was acknowledged again. */
  restart(server: AdoptedServerRecord, spec: AdoptedServerSpec, operationId: OperationId): Promise<AdoptedServerRecord>;
  /** Ends open operations of the server and writes the request to detach it. */
  deregister(server: AdoptedServerRecord, operationId: OperationId): Promise<AdoptedServerRecord>;
}

/** The server id is unique across all teams, and another team has adopted the server. */
export class ServerTaken extends Error {
  override readonly name = 'ServerTaken';
}

export interface AdoptedServerStore {
  /** @returns null when the team has no such connection */
  findConnection(caller: Caller, ref: string): Promise<ServerConnection | null>;
  list(caller: Caller, ref: string): Promise<AdoptedServerRecord[]>;
  find(caller: Caller, ref: string, serverId: number): Promise<AdoptedServerRecord | null>;
  /**
   * Finds the outcome of the first request with this key. Null for a new request or when the server no longer exists.
   *
   * @throws Problem `idempotency_key_reused`
   */
  findReplay(caller: Caller, request: KeyedRequest): Promise<ServerOutcome | null>;
  /** @throws Problem `not_found` when the connection no longer exists */
  change<T>(caller: Caller, connectionId: ConnectionId, work: (tx: ServerTransaction) => Promise<T>): Promise<T>;
}
