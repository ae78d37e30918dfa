import { randomInt, randomUUID, timingSafeEqual } from 'node:crypto';
import type { OperationRecord, SealedToken } from '@corral/cluster-data';
import {
  asConnectionId,
  asOperationId,
  type ClusterId,
  type ConnectionId,
  type ConnectionPhase,
  type ConnectionSpecInput,
  clusterLimits,
  type OperationId,
  type ServerId,
  type TokenVerdict,
} from '@corral/contracts';
import { awaited, type Caller, type KeyedRequest } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import { notFound, Problem } from '../problem.js';
import type { Belongings } from '../servers/server-in-project.js';
import { checkConnectionSpec, isUnchanged, type TokenStatus, tokenStatusOf } from './decide-connection.js';
import { type ConnectionRecord, connectionTagOf } from './record.js';

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

type StoredConnection = ConnectionRecord & { readonly sealed: SealedToken };

/** Changes of one team's connections. The team's changes are locked, so what is read here cannot change meanwhile. */
export interface ConnectionChanges {
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
  claimKey<Id extends ConnectionId | OperationId>(request: KeyedRequest | null, resourceId: Id): Promise<Id | null>;
  audit(action: ConnectionAction, of: ConnectionRecord, detail?: Record<string, string | boolean>): Promise<void>;
}
type ConnectionAction = 'connection.create' | 'connection.replace' | 'connection.delete';

type VerificationAsked =
  /** A verification is already running, or the first request with this key met one. */
  | { readonly kind: 'under way'; readonly connection: ConnectionRecord; readonly operation: OperationRecord | null }
  | { readonly kind: 'accepted'; readonly connection: ConnectionRecord; readonly operation: OperationRecord };

export interface ConnectionStore {
  list(caller: Caller, phase: ConnectionPhase | null): Promise<ConnectionRecord[]>;
  find(caller: Caller, ref: string): Promise<ConnectionRecord | null>;
  /** The servers and clusters that the connection is known to have in its cloud project. */
  belongings(caller: Caller, ref: string): Promise<Belongings>;
  change<T>(caller: Caller, work: (changes: ConnectionChanges) => Promise<T>): Promise<T>;
}

export interface ConnectionDeps {
  readonly store: ConnectionStore;
  readonly seal: (token: string, connectionId: ConnectionId) => SealedToken;
  /** @returns null when the token can no longer be decrypted */
  readonly open: (sealed: SealedToken, connectionId: ConnectionId) => string | null;
  readonly verify: (token: string) => Promise<TokenVerdict>;
  /** Whether the token certainly belongs to another cloud project than the connection's resources. */
  readonly isOtherProject: (token: string, belongings: Belongings) => Promise<boolean>;
  readonly wake: (clusterId: ClusterId) => Promise<void>;
  readonly wakeServer: (id: ServerId) => Promise<void>;
}

/**
 * The changes of connections. The provider is asked before the transaction begins, so no lock waits for it. A rejected
 * token is stored too: the connection's status says what is wrong, and its clusters wait for another token.
 */
export const connectionService = (deps: ConnectionDeps) => {
  const { store, seal, open, verify, isOtherProject, wake, wakeServer } = deps;
  const judge = async (caller: Caller, token: string): Promise<JudgedToken> => ({
    token,
    verdict: await awaited(caller, () => verify(token)),
  });

  const make = async (
    changes: ConnectionChanges,
    { id, ref }: { id: ConnectionId; ref: string },
    { name = ref, provider, providerConfig }: ConnectionSpecInput,
    { token, verdict }: JudgedToken,
  ): Promise<ConnectionRecord> => {
    if ((await changes.count()) >= clusterLimits.connectionsPerTeam) {
      throw new Problem(
        'quota_exceeded',
        `The limit per team is ${clusterLimits.connectionsPerTeam} connections. Delete an unused one.`,
      );
    }
    const tokenStatus = tokenStatusOf(verdict, null, Math.random());
    const made = await changes.insert({
      id,
      ref,
      name,
      provider,
      providerConfig,
      tokenStatus,
      sealed: seal(token, id),
    });
    await changes.audit('connection.create', made, { phase: made.phase });
    return made;
  };

  const replace = async (
    changes: ConnectionChanges,
    current: StoredConnection,
    { name = current.ref, providerConfig }: ConnectionSpecInput,
    judged: JudgedToken | null,
  ): Promise<Replaced> => {
    const isNewToken = judged !== null && !isSameText(open(current.sealed, current.id), judged.token);
    const tokenStatus = judged && tokenStatusOf(judged.verdict, isNewToken ? null : current, Math.random());
    if (!isNewToken && isUnchanged(current, { name, providerConfig })) {
      const connection = tokenStatus === null ? current : await changes.restate(current.id, tokenStatus);
      return { connection, affectsUsers: connection.phase !== current.phase };
    }
    const connection = await changes.replace(current.id, {
      name,
      providerConfig,
      tokenStatus,
      sealed: isNewToken ? seal(judged.token, current.id) : null,
    });
    await changes.audit('connection.replace', connection, { phase: connection.phase, tokenReplaced: isNewToken });
    return { connection, affectsUsers: isNewToken || connection.phase !== current.phase };
  };

  const isElsewhere = async (caller: Caller, ref: string, token: string): Promise<boolean> => {
    const belongings = await store.belongings(caller, ref);
    return awaited(caller, () => isOtherProject(token, belongings));
  };

  return {
    /**
     * Creates a connection with a generated ref.
     *
     * @throws Problem `validation_failed`, `quota_exceeded`, `idempotency_key_reused`
     */
    async create(
      caller: Caller,
      spec: ConnectionSpecInput & { token: string },
      request: KeyedRequest | null,
    ): Promise<ConnectionRecord> {
      checkConnectionSpec(null, spec);
      const judged = await judge(caller, spec.token);
      return store.change(caller, async (changes) => {
        const id = asConnectionId(randomUUID());
        const madeBefore = await changes.claimKey(request, id);
        if (madeBefore === null) return make(changes, { id, ref: makeConnectionRef() }, spec, judged);
        const made = await changes.findById(madeBefore);
        if (made === null) throw notFound();
        return made;
      });
    },

    /**
     * Creates or replaces the connection with this ref. A new token or phase wakes the clusters and servers that use
     * it.
     *
     * @throws Problem `validation_failed`, `immutable_field`, `quota_exceeded`, `connection_project_mismatch`,
     *   `precondition_failed`
     */
    async declare(
      caller: Caller,
      ref: string,
      spec: ConnectionSpecInput,
      preconditions: Preconditions,
    ): Promise<{ connection: ConnectionRecord; isNew: boolean }> {
      const check = (current: ConnectionRecord | null) => {
        checkPreconditions(preconditions, current && connectionTagOf(current));
        checkConnectionSpec(current, spec);
      };
      check(await store.find(caller, ref));
      const judged = spec.token === undefined ? null : await judge(caller, spec.token);
      if (judged !== null && (await isElsewhere(caller, ref, judged.token))) {
        throw new Problem(
          'connection_project_mismatch',
          'The nodes or adopted servers of the connection are not in the project of this token. Use a token of ' +
            'the same project.',
        );
      }
      const { woken, servers, ...declared } = await store.change(caller, async (changes) => {
        const current = await changes.find(ref);
        check(current); // again, because it may have changed since the first check
        if (current === null) {
          const made = await make(changes, { id: asConnectionId(randomUUID()), ref }, spec, judged as JudgedToken);
          return { connection: made, isNew: true, woken: [], servers: [] };
        }
        const { connection, affectsUsers } = await replace(changes, current, spec, judged);
        return {
          connection,
          isNew: false,
          woken: affectsUsers ? await changes.makeUsersDue(connection.id) : [],
          servers: affectsUsers ? await changes.makeServersDue(connection.id) : [],
        };
      });
      await Promise.all([...woken.map(wake), ...servers.map(wakeServer)]);
      return declared;
    },

    /**
     * Starts a verification of the stored token. Requests during a running verification share it.
     *
     * @throws Problem `not_found`, `idempotency_key_reused`
     */
    verify: (caller: Caller, ref: string, request: KeyedRequest | null): Promise<VerificationAsked> =>
      store.change(caller, async (changes) => {
        const connection = await changes.find(ref);
        if (connection === null) throw notFound();
        const operationId = asOperationId(randomUUID());
        const firstId = await changes.claimKey(request, operationId);
        const first = firstId && (await changes.findOperation(firstId));
        if (first) return { kind: 'accepted', connection, operation: first };
        const open = await changes.findVerification(connection.id);
        if (firstId !== null || open !== null) return { kind: 'under way', connection, operation: open };
        return { kind: 'accepted', connection, operation: await changes.beginVerification(connection, operationId) };
      }),

    /**
     * Deletes a connection and its token. The reconciler then removes the credentials from the garden.
     *
     * @throws Problem `not_found`, `precondition_failed`, `connection_in_use`
     */
    async remove(caller: Caller, ref: string, preconditions: Preconditions): Promise<void> {
      await store.change(caller, async (changes) => {
        const connection = await changes.find(ref);
        if (connection === null) throw notFound();
        checkPreconditions(preconditions, connectionTagOf(connection));
        const { clusters, servers } = await changes.usersOf(connection.id);
        if (clusters.length + servers.length > 0) {
          const users = [...clusters.map((name) => `cluster ${name}`), ...servers.map((number) => `server ${number}`)];
          throw new Problem(
            'connection_in_use',
            `The connection is used by ${users.join(', ')}. Delete or deregister them first.`,
          );
        }
        await changes.remove(connection.id);
        await changes.audit('connection.delete', connection);
      });
    },
  };
};
export type ConnectionService = ReturnType<typeof connectionService>;

interface JudgedToken {
  readonly token: string;
  readonly verdict: TokenVerdict;
}

interface Replaced {
  readonly connection: ConnectionRecord;
  /** Whether clusters and servers that use the connection must be reconciled. */
  readonly affectsUsers: boolean;
}

/** Compares in constant time to keep a stored token from timing attacks. */
function isSameText(one: string | null, other: string): boolean {
  if (one === null) return false;
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Without characters that are easily confused, such as l and 1. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Generates a ref for a connection without one: `conn-` and 8 characters, 8.5 × 10^11 combinations. */
function makeConnectionRef(): string {
  return `conn-${Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')}`;
}
