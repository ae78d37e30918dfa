import { randomUUID, timingSafeEqual } from 'node:crypto';
import { type ConnectionPhase, type ConnectionSpecInput, clusterLimits, type TokenVerdict } from '@corral/contracts';
import { notFound, Problem } from '../problem.js';
import { awaited, type Caller } from './caller.js';
import type { OperationRecord } from './cluster-record.js';
import { connectionTagOf } from './connection-body.js';
import type { ConnectionRecord, SealedToken } from './connection-record.js';
import { makeConnectionRef } from './connection-ref.js';
import { checkConnectionSpec, isUnchanged, type Standing, standingOf } from './decide-connection.js';
import { checkPreconditions, type Preconditions } from './entity-tag.js';
import type { KeyedRequest } from './keyed-request.js';

import type { Belongings } from './server-in-project.js';

export interface NewConnection {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  readonly sealed: SealedToken;
  readonly standing: Standing;
}

export interface ConnectionReplacement {
  readonly name: string;
  readonly providerConfig: Readonly<Record<string, unknown>>;
  /** Null: the token stays. */
  readonly sealed: SealedToken | null;
  /** Null: the provider was not asked. */
  readonly standing: Standing | null;
}

export type StoredConnection = ConnectionRecord & { readonly sealed: SealedToken };

/** Changes to the connections of one team, one at a time: what is read here stays as it is until the end. */
export interface ConnectionChanges {
  find(ref: string): Promise<StoredConnection | null>;
  findById(id: string): Promise<ConnectionRecord | null>;
  count(): Promise<number>;
  insert(connection: NewConnection): Promise<ConnectionRecord>;
  replace(id: string, replacement: ConnectionReplacement): Promise<ConnectionRecord>;
  /** Writes down what the provider said of the token that is there. */
  restate(id: string, standing: Standing): Promise<ConnectionRecord>;
  /** Deletes the connection, and writes down what is to go from the garden with it. */
  remove(id: string): Promise<void>;
  /** Names of the clusters and numbers of the servers that use the connection. */
  usersOf(id: string): Promise<{ clusters: readonly string[]; servers: readonly string[] }>;
  /** Makes the clusters due that use the connection. @returns their ids */
  makeUsersDue(id: string): Promise<readonly string[]>;
  /** The same for adopted servers that wait for something. */
  makeServersDue(id: string): Promise<readonly string[]>;
  /** The verification that somebody asked for and that has not ended. */
  findVerification(id: string): Promise<OperationRecord | null>;
  findOperation(id: string): Promise<OperationRecord | null>;
  /** Makes the connection due, with an operation that tells what came of it, and an audit entry. */
  beginVerification(of: ConnectionRecord, operationId: string): Promise<OperationRecord>;
  /** @returns null when the request is new, else the id of what its first copy made */
  claimKey(request: KeyedRequest | null, resourceId: string): Promise<string | null>;
  audit(action: ConnectionAction, of: ConnectionRecord, detail?: Record<string, string | boolean>): Promise<void>;
}
export type ConnectionAction = 'connection.create' | 'connection.replace' | 'connection.delete';

export type VerificationAsked =
  /** The provider is being asked already, or was when the request came first. */
  | { readonly kind: 'under way'; readonly connection: ConnectionRecord; readonly operation: OperationRecord | null }
  | { readonly kind: 'accepted'; readonly connection: ConnectionRecord; readonly operation: OperationRecord };

export interface ConnectionStore {
  list(caller: Caller, phase: ConnectionPhase | null): Promise<ConnectionRecord[]>;
  find(caller: Caller, ref: string): Promise<ConnectionRecord | null>;
  /** What the connection's project is known to have of it. */
  belongings(caller: Caller, ref: string): Promise<Belongings>;
  change<T>(caller: Caller, work: (changes: ConnectionChanges) => Promise<T>): Promise<T>;
}

export interface ConnectionDeps {
  readonly store: ConnectionStore;
  readonly seal: (token: string, connectionId: string) => SealedToken;
  /** @returns null for what cannot be opened any more */
  readonly open: (sealed: SealedToken, connectionId: string) => string | null;
  readonly verify: (token: string) => Promise<TokenVerdict>;
  /** Whether the token is surely of another project than what the connection has. */
  readonly isOtherProject: (token: string, belongings: Belongings) => Promise<boolean>;
  readonly wake: (clusterId: string) => Promise<void>;
  readonly wakeServer: (id: string) => Promise<void>;
}

/**
 * The changes of connections. The provider is asked before a transaction begins: no lock waits for it. A token that it
 * rejects is stored all the same, and the connection says so: whoever declares it sees what is wrong, and clusters wait.
 */
export const connectionService = (deps: ConnectionDeps) => {
  const { store, seal, open, verify, isOtherProject, wake, wakeServer } = deps;
  const judge = async (caller: Caller, token: string): Promise<JudgedToken> => ({
    token,
    verdict: await awaited(caller, () => verify(token)),
  });

  const make = async (
    changes: ConnectionChanges,
    { id, ref }: { id: string; ref: string },
    { name = ref, provider, providerConfig }: ConnectionSpecInput,
    { token, verdict }: JudgedToken,
  ): Promise<ConnectionRecord> => {
    if ((await changes.count()) >= clusterLimits.connectionsPerTeam) {
      throw new Problem(
        'quota_exceeded',
        `The limit per team is ${clusterLimits.connectionsPerTeam} connections. Delete an unused one.`,
      );
    }
    const standing = standingOf(verdict, null, Math.random());
    const made = await changes.insert({
      ...{ id, ref, name, provider, providerConfig, standing },
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
    const standing = judged && standingOf(judged.verdict, isNewToken ? null : current, Math.random());
    if (!isNewToken && isUnchanged(current, { name, providerConfig })) {
      const connection = standing === null ? current : await changes.restate(current.id, standing);
      return { connection, concernsUsers: connection.phase !== current.phase };
    }
    const connection = await changes.replace(current.id, {
      ...{ name, providerConfig, standing },
      sealed: isNewToken ? seal(judged.token, current.id) : null,
    });
    await changes.audit('connection.replace', connection, { phase: connection.phase, tokenReplaced: isNewToken });
    return { connection, concernsUsers: isNewToken || connection.phase !== current.phase };
  };

  const isElsewhere = async (caller: Caller, ref: string, token: string): Promise<boolean> => {
    const belongings = await store.belongings(caller, ref);
    return awaited(caller, () => isOtherProject(token, belongings));
  };

  return {
    /**
     * Makes a connection at a ref of our own making.
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
        const id = randomUUID();
        const madeBefore = await changes.claimKey(request, id);
        if (madeBefore === null) return make(changes, { id, ref: makeConnectionRef() }, spec, judged);
        const made = await changes.findById(madeBefore);
        if (made === null) throw notFound();
        return made;
      });
    },

    /**
     * Makes the connection at a ref, or replaces it. A new token wakes every cluster that uses it.
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
        check(current); // it may have come, gone or changed meanwhile
        if (current === null) {
          const made = await make(changes, { id: randomUUID(), ref }, spec, judged as JudgedToken);
          return { connection: made, isNew: true, woken: [], servers: [] };
        }
        const { connection, concernsUsers } = await replace(changes, current, spec, judged);
        return {
          ...{ connection, isNew: false },
          woken: concernsUsers ? await changes.makeUsersDue(connection.id) : [],
          servers: concernsUsers ? await changes.makeServersDue(connection.id) : [],
        };
      });
      await Promise.all([...woken.map(wake), ...servers.map(wakeServer)]);
      return declared;
    },

    /**
     * Has the token shown to the provider, once for all who ask for it meanwhile.
     *
     * @throws Problem `not_found`, `idempotency_key_reused`
     */
    verify: (caller: Caller, ref: string, request: KeyedRequest | null): Promise<VerificationAsked> =>
      store.change(caller, async (changes) => {
        const connection = await changes.find(ref);
        if (connection === null) throw notFound();
        const operationId = randomUUID();
        const firstId = await changes.claimKey(request, operationId);
        const first = firstId && (await changes.findOperation(firstId));
        if (first) return { kind: 'accepted', connection, operation: first };
        const open = await changes.findVerification(connection.id);
        if (firstId !== null || open !== null) return { kind: 'under way', connection, operation: open };
        return { kind: 'accepted', connection, operation: await changes.beginVerification(connection, operationId) };
      }),

    /**
     * Forgets a connection and its token. What the garden holds of it is written down for the reconciler to remove.
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
  /** Clusters that use the connection have to look at it anew. */
  readonly concernsUsers: boolean;
}

/** In constant time, so that nobody can feel their way to a stored token. */
function isSameText(one: string | null, other: string): boolean {
  if (one === null) return false;
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
