import type { RequestScope } from '@corral/admission';
import type { SealedToken } from '@corral/cluster-data';
import {
  type AdoptedServerSpec,
  type ConnectionId,
  joinsByCommand,
  type OperationId,
  type ServerId,
} from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type { ServerReading } from '@corral/hcloud';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { invalidField, notFound, Problem } from '../problem.js';
import type { WakeUp } from '../wake-ups.js';
import type { AdoptedServerRecord } from './body.js';
import { connectionRejected } from './cloud-project.js';
import {
  adoptionObstacle,
  checkAdoptionRequest,
  checkIsDetachable,
  checkIsUnclaimed,
  checkMatchesServer,
  claimedByOthers,
  decideAdoption,
} from './decide-adoption.js';
import {
  type AdoptedServerStore,
  type ServerConnection,
  type ServerOutcome,
  ServerTaken,
  type ServerTransaction,
} from './transaction.js';

export interface AdoptedServerDeps {
  readonly store: AdoptedServerStore;
  /** @returns null when the token can no longer be decrypted */
  readonly open: (sealed: SealedToken, connectionId: ConnectionId) => string | null;
  /** Reads a server with the token of a project. @throws Problem that of `absent`, or why the project cannot be read */
  readonly readServer: (
    scope: RequestScope,
    token: string,
    id: number,
    absent: () => Problem,
  ) => Promise<ServerReading>;
  readonly wake: WakeUp<ServerId>;
  readonly newId: () => OperationId;
  /** Quota of teams without an override. */
  readonly serversPerTeam: number;
  readonly features: ReadonlySet<GardenFeature>;
}

export interface LookedUpServer {
  readonly found: ServerReading;
  /** Why it cannot be adopted; null if it can. */
  readonly obstacle: string | null;
}

export interface AdoptionRequest {
  readonly spec: AdoptedServerSpec;
  readonly acknowledge?: unknown;
}

export const adoptedServerService = (deps: AdoptedServerDeps) => {
  const { store, open, wake, newId, serversPerTeam, features } = deps;

  const connectionOf = async (caller: Caller, ref: string): Promise<ServerConnection> => {
    const connection = await store.findConnection(caller, ref);
    if (connection === null) throw notFound();
    return connection;
  };

  const readProject = (
    caller: Caller,
    connection: ServerConnection,
    id: number,
    absent: () => Problem,
  ): Promise<ServerReading> => {
    const token = connection.phase === 'Rejected' ? null : open(connection.sealed, connection.id);
    if (token === null) throw connectionRejected();
    return deps.readServer(caller.scope, token, id, absent);
  };

  /** Reads the server before the transaction begins, so no lock waits for the provider. Null for other machines. */
  const readServer = async (
    caller: Caller,
    connection: ServerConnection,
    spec: AdoptedServerSpec,
  ): Promise<ServerReading | null> => {
    if (joinsByCommand(spec.serverKind)) return null;
    const found = await readProject(caller, connection, spec.serverID, notInProject);
    checkMatchesServer(spec, found);
    return found;
  };

  const accept =
    (spec: AdoptedServerSpec, found: ServerReading | null) =>
    async (tx: ServerTransaction, operationId: OperationId): Promise<ServerOutcome> => {
      const adoption = decideAdoption(await tx.find(spec.serverID), spec);
      if (adoption.kind === 'under way') return underWay(adoption.server);
      if (found !== null) checkIsUnclaimed(found, adoption.kind === 'again' ? adoption.server.claimToken : null);
      if (adoption.kind === 'again') {
        return { server: await tx.restart(adoption.server, spec, operationId), operationId };
      }
      const quota = tx.quota ?? serversPerTeam;
      if ((await tx.count()) >= quota) {
        const detail = `The team's quota is ${quota} adopted servers. Deregister one, or ask the operators to raise the quota.`;
        throw new Problem('quota_exceeded', detail);
      }
      return { server: await tx.insert(spec, found?.name ?? '', operationId), operationId };
    };

  return {
    /**
     * Reads a server in the project of a connection, and whether it can be adopted.
     *
     * @throws Problem `not_found`, `connection_rejected`, `upstream_unavailable`
     */
    async lookUp(caller: Caller, ref: string, serverId: number): Promise<LookedUpServer> {
      const connection = await connectionOf(caller, ref);
      const found = await readProject(caller, connection, serverId, absentFromProject);
      return { found, obstacle: adoptionObstacle(await store.find(caller, ref, serverId), found) };
    },

    /**
     * Accepts the wipe of a server, once per acknowledgement. The reconciler carries it out.
     *
     * @throws Problem `acknowledgement_required`, `unsupported_by_garden`, `not_found`, `connection_rejected`,
     *   `validation_failed`, `server_claimed`, `quota_exceeded`, `upstream_unavailable`, `idempotency_key_reused`
     */
    async adopt(
      caller: Caller,
      ref: string,
      requested: AdoptionRequest,
      request: KeyedRequest | null,
    ): Promise<ServerOutcome> {
      const { spec } = requested;
      checkAdoptionRequest(spec, requested.acknowledge, features);
      const connection = await connectionOf(caller, ref);
      const replayed = request && (await store.findReplay(caller, request));
      if (replayed !== null) return replayed;
      const known = decideAdoption(await store.find(caller, ref, spec.serverID), spec);
      if (known.kind === 'under way') return underWay(known.server);

      const decide = accept(spec, await readServer(caller, connection, spec));
      const operationId = newId();
      const changed = await store
        .change(caller, connection.id, async (tx) => {
          const first = await tx.registerKey(request, operationId);
          return first === null ? decide(tx, operationId) : null;
        })
        .catch((error: unknown) => {
          throw error instanceof ServerTaken ? claimedByOthers() : error;
        });
      // A concurrent copy of the request won.
      const outcome = changed ?? (request && (await store.findReplay(caller, request)));
      if (outcome === null) throw notFound();
      wake(outcome.server.id);
      return outcome;
    },

    /**
     * Accepts the detachment of a server. The server itself is not changed.
     *
     * @throws Problem `not_found`, `server_claimed`
     */
    async deregister(caller: Caller, ref: string, serverId: number): Promise<{ operationId: OperationId }> {
      const connection = await connectionOf(caller, ref);
      const { server, operationId } = await store.change(caller, connection.id, async (tx): Promise<ServerOutcome> => {
        const server = await tx.find(serverId);
        if (server === null) throw notFound();
        if (server.deregisterRequestedAt !== null) return underWay(server);
        checkIsDetachable(server, connection);
        const operationId = newId();
        return { server: await tx.deregister(server, operationId), operationId };
      });
      wake(server.id);
      return { operationId };
    },
  };
};
export type AdoptedServerService = ReturnType<typeof adoptedServerService>;

const absentFromProject = (): Problem =>
  new Problem('not_found', 'The connection’s cloud project has no server with this number. Check the number.');

const notInProject = (): Problem =>
  invalidField(
    'validation_failed',
    '/spec/serverID',
    'is not a server of the connection’s cloud project. Check the number and the connection',
  );

/** A server with an intent always has an operation: both are written together. */
const underWay = (server: AdoptedServerRecord): ServerOutcome => ({
  server,
  operationId: server.operationId as OperationId,
});
