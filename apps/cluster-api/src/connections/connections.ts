import { randomInt, randomUUID, timingSafeEqual } from 'node:crypto';
import type { RequestScope } from '@corral/admission';
import type { OperationRecord, SealedToken } from '@corral/cluster-data';
import {
  asConnectionId,
  asOperationId,
  type ClusterId,
  type ConnectionId,
  type ConnectionSpecInput,
  clusterLimits,
  type ServerId,
  type TokenVerdict,
} from '@corral/contracts';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import { notFound, Problem } from '../problem.js';
import type { ProjectResources } from '../servers/cloud-project.js';
import type { WakeUp } from '../wake-ups.js';
import { type ConnectionRecord, connectionTagOf } from './body.js';
import { checkConnectionSpec, isUnchanged, tokenStatusOf } from './decide-connection.js';
import type { ConnectionStore, ConnectionTransaction, StoredConnection } from './transaction.js';

type VerificationAsked =
  /** A verification is already running, or the first request with this key met one. */
  | { readonly kind: 'under way'; readonly connection: ConnectionRecord; readonly operation: OperationRecord | null }
  | { readonly kind: 'accepted'; readonly connection: ConnectionRecord; readonly operation: OperationRecord };

export interface ConnectionDeps {
  readonly store: ConnectionStore;
  readonly seal: (token: string, connectionId: ConnectionId) => SealedToken;
  /** @returns null when the token can no longer be decrypted */
  readonly open: (sealed: SealedToken, connectionId: ConnectionId) => string | null;
  readonly verify: (scope: RequestScope, token: string) => Promise<TokenVerdict>;
  /** Whether the token certainly belongs to another cloud project than the connection's resources. */
  readonly isOtherProject: (scope: RequestScope, token: string, resources: ProjectResources) => Promise<boolean>;
  readonly wake: WakeUp<ClusterId>;
  readonly wakeServer: WakeUp<ServerId>;
  readonly wakeConnection: () => void;
}

/**
 * The changes of connections. The provider is asked before the transaction begins, so no lock waits for it. A rejected
 * token is stored too: the connection's status says what is wrong, and its clusters wait for another token.
 */
export const connectionService = (deps: ConnectionDeps) => {
  const { store, seal, open, verify, isOtherProject, wake, wakeServer, wakeConnection } = deps;
  const judge = async (caller: Caller, token: string): Promise<JudgedToken> => ({
    token,
    verdict: await verify(caller.scope, token),
  });

  const make = async (
    tx: ConnectionTransaction,
    { id, ref }: { id: ConnectionId; ref: string },
    { name = ref, provider, providerConfig }: ConnectionSpecInput,
    { token, verdict }: JudgedToken,
  ): Promise<ConnectionRecord> => {
    if ((await tx.count()) >= clusterLimits.connectionsPerTeam) {
      throw new Problem(
        'quota_exceeded',
        `The limit per team is ${clusterLimits.connectionsPerTeam} connections. Delete an unused one.`,
      );
    }
    const tokenStatus = tokenStatusOf(verdict, null, Math.random());
    const made = await tx.insert({
      id,
      ref,
      name,
      provider,
      providerConfig,
      tokenStatus,
      sealed: seal(token, id),
    });
    await tx.audit('connection.create', made, { detail: { phase: made.phase } });
    return made;
  };

  const replace = async (
    tx: ConnectionTransaction,
    current: StoredConnection,
    { name = current.name, providerConfig }: ConnectionSpecInput,
    judged: JudgedToken | null,
  ): Promise<Replaced> => {
    const isNewToken = judged !== null && !isSameText(open(current.sealed, current.id), judged.token);
    const tokenStatus = judged && tokenStatusOf(judged.verdict, isNewToken ? null : current, Math.random());
    if (!isNewToken && isUnchanged(current, { name, providerConfig })) {
      const connection = tokenStatus === null ? current : await tx.restate(current.id, tokenStatus);
      return { connection, affectsUsers: connection.phase !== current.phase };
    }
    const connection = await tx.replace(current.id, {
      name,
      providerConfig,
      tokenStatus,
      sealed: isNewToken ? seal(judged.token, current.id) : null,
    });
    await tx.audit('connection.replace', connection, {
      changes: current.name === name ? [] : [{ pointer: '/spec/name', from: current.name, to: name }],
      detail: { phase: connection.phase, tokenReplaced: isNewToken },
    });
    return { connection, affectsUsers: isNewToken || connection.phase !== current.phase };
  };

  const isElsewhere = async (caller: Caller, ref: string, token: string): Promise<boolean> => {
    const resources = await store.resourcesInProject(caller, ref);
    return isOtherProject(caller.scope, token, resources);
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
      const created = await store.change(caller, async (tx) => {
        const id = asConnectionId(randomUUID());
        const madeBefore = await tx.registerKey(request, id);
        if (madeBefore === null) return make(tx, { id, ref: makeConnectionRef() }, spec, judged);
        const made = await tx.findById(madeBefore);
        if (made === null) throw notFound();
        return made;
      });
      wakeConnection();
      return created;
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
      const { woken, servers, isDue, ...declared } = await store.change(caller, async (tx) => {
        const current = await tx.find(ref);
        check(current); // again, because it may have changed since the first check
        if (current === null) {
          const made = await make(tx, { id: asConnectionId(randomUUID()), ref }, spec, judged as JudgedToken);
          return { connection: made, isNew: true, isDue: true, woken: [], servers: [] };
        }
        const { connection, affectsUsers } = await replace(tx, current, spec, judged);
        return {
          connection,
          isNew: false,
          isDue: affectsUsers,
          woken: affectsUsers ? await tx.makeUsersDue(connection.id) : [],
          servers: affectsUsers ? await tx.makeServersDue(connection.id) : [],
        };
      });
      for (const id of woken) wake(id);
      for (const id of servers) wakeServer(id);
      if (isDue) wakeConnection();
      return declared;
    },

    /**
     * Starts a verification of the stored token. Requests during a running verification share it.
     *
     * @throws Problem `not_found`, `idempotency_key_reused`
     */
    async verify(caller: Caller, ref: string, request: KeyedRequest | null): Promise<VerificationAsked> {
      const asked = await store.change<VerificationAsked>(caller, async (tx) => {
        const connection = await tx.find(ref);
        if (connection === null) throw notFound();
        const operationId = asOperationId(randomUUID());
        const firstId = await tx.registerKey(request, operationId);
        const first = firstId && (await tx.findOperation(firstId));
        if (first) return { kind: 'accepted', connection, operation: first };
        const open = await tx.findVerification(connection.id);
        if (firstId !== null || open !== null) return { kind: 'under way', connection, operation: open };
        return { kind: 'accepted', connection, operation: await tx.beginVerification(connection, operationId) };
      });
      wakeConnection();
      return asked;
    },

    /**
     * Deletes a connection and its token. The reconciler then removes the credentials from the garden.
     *
     * @throws Problem `not_found`, `precondition_failed`, `connection_in_use`
     */
    async remove(caller: Caller, ref: string, preconditions: Preconditions): Promise<void> {
      await store.change(caller, async (tx) => {
        const connection = await tx.find(ref);
        if (connection === null) throw notFound();
        checkPreconditions(preconditions, connectionTagOf(connection));
        const { clusters, servers } = await tx.usersOf(connection.id);
        if (clusters.length + servers.length > 0) {
          const users = [...clusters.map((name) => `cluster ${name}`), ...servers.map((number) => `server ${number}`)];
          throw new Problem(
            'connection_in_use',
            `The connection is used by ${users.join(', ')}. Delete or deregister them first.`,
          );
        }
        await tx.remove(connection.id);
        await tx.audit('connection.delete', connection);
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
