import type { OperationRecord, SealedToken } from '@corral/cluster-data';
import type { ClusterId, ConnectionId, ConnectionPhase, OperationId, ServerId } from '@corral/contracts';
import type { AuditedChange } from '../audit/record-audit.js';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import type { ProjectResources } from '../servers/cloud-project.js';
import type { ConnectionRecord } from './body.js';
import type { TokenStatus } from './decide-connection.js';

interface NewConnection {
  readonly id: ConnectionId;
  readonly ref: string;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly sealed: SealedToken;
  readonly tokenStatus: TokenStatus;
}

interface ConnectionReplacement {
  readonly name: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  /** Null keeps the stored token. */
  readonly sealed: SealedToken | null;
  /** Null when the provider was not asked. */
  readonly tokenStatus: TokenStatus | null;
}

export type StoredConnection = ConnectionRecord & { readonly sealed: SealedToken };

/** Changes of one team's connections. The team's changes are locked, so what is read here cannot change meanwhile. */
export interface ConnectionTransaction {
  find(ref: string): Promise<StoredConnection | null>;
  findById(id: ConnectionId): Promise<ConnectionRecord | null>;
  count(): Promise<number>;
  insert(connection: NewConnection): Promise<ConnectionRecord>;
  replace(id: ConnectionId, replacement: ConnectionReplacement): Promise<ConnectionRecord>;
  /** Stores what the provider said about the stored token. */
  restate(id: ConnectionId, tokenStatus: TokenStatus): Promise<ConnectionRecord>;
  /** Deletes the connection and records what must be cleaned up on the garden. */
  remove(id: ConnectionId): Promise<void>;
  /** Names of the clusters and ids of the servers that use the connection. */
  usersOf(id: ConnectionId): Promise<{ clusters: readonly string[]; servers: readonly string[] }>;
  /** Marks the started clusters of the connection as due. @returns their ids */
  makeUsersDue(id: ConnectionId): Promise<readonly ClusterId[]>;
  /** The same for adopted servers that already have a due time. */
  makeServersDue(id: ConnectionId): Promise<readonly ServerId[]>;
  /** The open operation that verifies the connection, if any. */
  findVerification(id: ConnectionId): Promise<OperationRecord | null>;
  findOperation(id: OperationId): Promise<OperationRecord | null>;
  /** Marks the verification as due and writes its operation and audit entry. */
  beginVerification(of: ConnectionRecord, operationId: OperationId): Promise<OperationRecord>;
  /** @returns null when the request is new, else the resource id of the first request with this key */
  registerKey<Id extends ConnectionId | OperationId>(request: KeyedRequest | null, resourceId: Id): Promise<Id | null>;
  audit(
    action: ConnectionAction,
    of: ConnectionRecord,
    what?: Pick<AuditedChange, 'changes' | 'detail'>,
  ): Promise<void>;
}

type ConnectionAction = 'connection.create' | 'connection.replace' | 'connection.delete';

export interface ConnectionStore {
  list(caller: Caller, phase: ConnectionPhase | null): Promise<ConnectionRecord[]>;
  find(caller: Caller, ref: string): Promise<ConnectionRecord | null>;
  /** The servers and clusters that the connection is known to have in its cloud project. */
  resourcesInProject(caller: Caller, ref: string): Promise<ProjectResources>;
  change<T>(caller: Caller, work: (tx: ConnectionTransaction) => Promise<T>): Promise<T>;
}
