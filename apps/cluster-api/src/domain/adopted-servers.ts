import { type AdoptedServerSpec, type ConnectionPhase, joinsByCommand } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import type { ServerReading } from '@corral/hcloud';
import { notFound, Problem } from '../problem.js';
import type { AdoptedServerRecord } from './adopted-server-record.js';
import { awaited, type Caller } from './caller.js';
import type { SealedToken } from './connection-record.js';
import {
  checkAdoptionRequest,
  checkIsDetachable,
  checkIsUnclaimed,
  checkMeansServer,
  claimedByOthers,
  decideAdoption,
} from './decide-adoption.js';
import type { KeyedRequest } from './keyed-request.js';
import { connectionRejected, type ProjectDeps, serverInProject } from './server-in-project.js';

export interface ServerConnection {
  readonly id: string;
  readonly ref: string;
  readonly phase: ConnectionPhase;
  readonly sealed: SealedToken;
}

/** A server, and the operation that a request made or found about it. */
export interface ServerChanged {
  readonly server: AdoptedServerRecord;
  readonly operationId: string;
}

/** Changes of the servers of one connection; those of one team come one after the other. */
export interface ServerChanges {
  find(serverId: number): Promise<AdoptedServerRecord | null>;
  /** Of the team, over all connections. */
  count(): Promise<number>;
  /** Of the team; null when it has none of its own. */
  readonly quota: number | null;
  /** @returns null when the request is new, else the operation that its first copy made */
  claimKey(request: KeyedRequest | null, operationId: string): Promise<string | null>;
  /**
   * Writes the intent, its operation and the audit entry.
   *
   * @throws ServerTaken when somebody else has adopted the server
   */
  insert(spec: AdoptedServerSpec, name: string, operationId: string): Promise<AdoptedServerRecord>;
  /** The same for a new acknowledgement of a server that failed. */
  restart(server: AdoptedServerRecord, spec: AdoptedServerSpec, operationId: string): Promise<AdoptedServerRecord>;
  /** Ends what is open about the server, and writes the wish to detach it. */
  deregister(server: AdoptedServerRecord, operationId: string): Promise<AdoptedServerRecord>;
}

/** The server's number is unique in the whole system, and another one has it. */
export class ServerTaken extends Error {
  override readonly name = 'ServerTaken';
}

export interface AdoptedServerStore {
  /** @returns null when the team has no such connection */
  findConnection(caller: Caller, ref: string): Promise<ServerConnection | null>;
  list(caller: Caller, ref: string): Promise<AdoptedServerRecord[]>;
  find(caller: Caller, ref: string, serverId: number): Promise<AdoptedServerRecord | null>;
  /**
   * What the first copy of a request became; null when it is the first, or its server is gone.
   *
   * @throws Problem `idempotency_key_reused`
   */
  findReplay(caller: Caller, request: KeyedRequest): Promise<ServerChanged | null>;
  /** @throws Problem `not_found` when the connection is gone */
  change<T>(caller: Caller, connectionId: string, work: (changes: ServerChanges) => Promise<T>): Promise<T>;
}

export interface AdoptedServerDeps extends ProjectDeps {
  readonly store: AdoptedServerStore;
  /** @returns null for what cannot be opened any more */
  readonly open: (sealed: SealedToken, connectionId: string) => string | null;
  readonly wake: (id: string) => Promise<void>;
  readonly newId: () => string;
  /** Of teams that have no quota of their own. */
  readonly serversPerTeam: number;
  readonly features: ReadonlySet<GardenFeature>;
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

  /**
   * The provider is asked before a transaction begins: no lock waits for it. Of what it does not know it is not asked.
   */
  const look = async (
    caller: Caller,
    connection: ServerConnection,
    spec: AdoptedServerSpec,
  ): Promise<ServerReading | null> => {
    if (joinsByCommand(spec.serverKind)) return null;
    const token = connection.phase === 'Rejected' ? null : open(connection.sealed, connection.id);
    if (token === null) throw connectionRejected();
    const found = await awaited(caller, () => serverInProject(deps, token, spec.serverID));
    checkMeansServer(spec, found);
    return found;
  };

  const accept =
    (spec: AdoptedServerSpec, found: ServerReading | null) =>
    async (changes: ServerChanges, operationId: string): Promise<ServerChanged> => {
      const adoption = decideAdoption(await changes.find(spec.serverID), spec);
      if (adoption.kind === 'under way') return underWay(adoption.server);
      if (found !== null) checkIsUnclaimed(found, adoption.kind === 'again' ? adoption.server.claimToken : null);
      if (adoption.kind === 'again') {
        return { server: await changes.restart(adoption.server, spec, operationId), operationId };
      }
      const quota = changes.quota ?? serversPerTeam;
      if ((await changes.count()) >= quota) {
        const detail = `The team's quota is ${quota} adopted servers. Deregister one, or ask the operators to raise the quota.`;
        throw new Problem('quota_exceeded', detail);
      }
      return { server: await changes.insert(spec, found?.name ?? '', operationId), operationId };
    };

  return {
    /**
     * Accepts the wipe of a server, once for each acknowledgement. Nothing happens to the server here.
     *
     * @throws Problem `acknowledgement_required`, `unsupported_by_garden`, `not_found`, `connection_rejected`,
     *   `validation_failed`, `server_claimed`, `quota_exceeded`, `upstream_unavailable`, `idempotency_key_reused`
     */
    async adopt(
      caller: Caller,
      ref: string,
      wish: AdoptionRequest,
      request: KeyedRequest | null,
    ): Promise<ServerChanged> {
      const { spec } = wish;
      checkAdoptionRequest(spec, wish.acknowledge, features);
      const connection = await connectionOf(caller, ref);
      const replayed = request && (await store.findReplay(caller, request));
      if (replayed !== null) return replayed;
      const known = decideAdoption(await store.find(caller, ref, spec.serverID), spec);
      if (known.kind === 'under way') return underWay(known.server);

      const decide = accept(spec, await look(caller, connection, spec));
      const operationId = newId();
      const changed = await store
        .change(caller, connection.id, async (changes) => {
          const first = await changes.claimKey(request, operationId);
          return first === null ? decide(changes, operationId) : null;
        })
        .catch((error: unknown) => {
          throw error instanceof ServerTaken ? claimedByOthers() : error;
        });
      // Its other copy came in between.
      const outcome = changed ?? (request && (await store.findReplay(caller, request)));
      if (outcome === null) throw notFound();
      await wake(outcome.server.id);
      return outcome;
    },

    /**
     * Accepts that a server is detached. It stays as it is, and where it is.
     *
     * @throws Problem `not_found`, `server_claimed`
     */
    async deregister(caller: Caller, ref: string, serverId: number): Promise<{ operationId: string }> {
      const connection = await connectionOf(caller, ref);
      const { server, operationId } = await store.change(
        caller,
        connection.id,
        async (changes): Promise<ServerChanged> => {
          const server = await changes.find(serverId);
          if (server === null) throw notFound();
          if (server.deregisterRequestedAt !== null) return underWay(server);
          checkIsDetachable(server, connection);
          const operationId = newId();
          return { server: await changes.deregister(server, operationId), operationId };
        },
      );
      await wake(server.id);
      return { operationId };
    },
  };
};
export type AdoptedServerService = ReturnType<typeof adoptedServerService>;

/** Every intent is written with its operation. */
const underWay = (server: AdoptedServerRecord): ServerChanged => ({
  server,
  operationId: server.operationId as string,
});
