import { randomUUID } from 'node:crypto';
import { type AdoptedServerSpec, asOperationId, joinsByCommand, type OperationId } from '@corral/contracts';
import type { ServerReading } from '@corral/hcloud';
import type { Caller, KeyedRequest } from '../changes/caller.js';
import { registerKey } from '../changes/idempotency-keys.js';
import { found, invalidField, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { connectionRejected, serverInProject, serversInProject } from './cloud-project.js';
import {
  adoptionObstacle,
  checkAdoptionRequest,
  checkIsUnclaimed,
  checkMatchesServer,
  claimedByOthers,
  decideAdoption,
} from './rules.js';
import {
  changeServers,
  countServers,
  findReplay,
  findServer,
  insertServer,
  listServers,
  lockServerOf,
  restartServer,
  type ServerChange,
  type ServerConnection,
  type ServerOutcome,
  ServerTaken,
  serverConnectionOf,
} from './store.js';
import type { AdoptedServerRecord } from './view.js';

export interface LookedUpServer {
  readonly found: ServerReading;
  /** Why it cannot be adopted; null if it can. */
  readonly obstacle: string | null;
}

/**
 * Reads a server in the project of a connection, and whether it can be adopted.
 *
 * @throws Problem `not_found`, `connection_rejected`, `upstream_unavailable`
 */
export async function lookUpServer(
  services: Services,
  caller: Caller,
  ref: string,
  serverId: number,
): Promise<LookedUpServer> {
  const connection = await serverConnectionOf(services.prisma, caller, ref);
  const found = await readProject(services, caller, connection, serverId, absentFromProject);
  return { found, obstacle: adoptionObstacle(await findServer(services.prisma, caller, ref, serverId), found) };
}

/**
 * Lists servers in the project of a connection, and whether they can be adopted. Nodes of clusters cannot, and are left out.
 *
 * @throws Problem `not_found`, `connection_rejected`, `upstream_unavailable`
 */
export async function lookUpServers(services: Services, caller: Caller, ref: string): Promise<LookedUpServer[]> {
  const connection = await serverConnectionOf(services.prisma, caller, ref);
  const found = await serversInProject(services, caller.scope, tokenOf(services, connection));
  const adopted = new Map((await listServers(services.prisma, caller, ref)).map((each) => [each.spec.serverID, each]));
  return found.map((each) => ({ found: each, obstacle: adoptionObstacle(adopted.get(each.id) ?? null, each) }));
}

export interface AdoptionRequest {
  readonly spec: AdoptedServerSpec;
  readonly acknowledge?: unknown;
}

/**
 * Accepts the wipe of a server, once per acknowledgement. The reconciler carries it out. The server is read before the transaction
 * begins, so no lock waits for the provider.
 *
 * @throws Problem `acknowledgement_required`, `unsupported_by_garden`, `not_found`, `connection_rejected`,
 *   `validation_failed`, `server_claimed`, `quota_exceeded`, `upstream_unavailable`, `idempotency_key_reused`
 */
export async function adoptServer(
  services: Services,
  caller: Caller,
  ref: string,
  { spec, acknowledge }: AdoptionRequest,
  request: KeyedRequest | null,
): Promise<ServerOutcome> {
  const { prisma, config, wake } = services;
  checkAdoptionRequest(spec, acknowledge, config.gardenFeatures);
  const connection = await serverConnectionOf(prisma, caller, ref);
  const replayed = request && (await findReplay(prisma, caller, request));
  if (replayed !== null) return replayed;
  const known = decideAdoption(await findServer(prisma, caller, ref, spec.serverID), spec);
  if (known.kind === 'under way') return underWay(known.server);

  const reading = await readServer(services, caller, connection, spec);
  const operationId = asOperationId(randomUUID());
  const changed = await changeServers(services, caller, connection.id, async (change) => {
    const first = await registerKey(change.tx, caller, request, operationId);
    return first === null ? accept(services, change, spec, reading, operationId) : null;
  }).catch((error: unknown) => {
    throw error instanceof ServerTaken ? claimedByOthers() : error;
  });
  // A concurrent copy of the request won.
  const outcome = found(changed ?? (request && (await findReplay(prisma, caller, request))));
  wake.server(outcome.server.id);
  return outcome;
}

async function accept(
  { config }: Services,
  change: ServerChange,
  spec: AdoptedServerSpec,
  found: ServerReading | null,
  operationId: OperationId,
): Promise<ServerOutcome> {
  const adoption = decideAdoption(await lockServerOf(change, spec.serverID), spec);
  if (adoption.kind === 'under way') return underWay(adoption.server);
  if (found !== null) checkIsUnclaimed(found, adoption.kind === 'again' ? adoption.server.claimToken : null);
  if (adoption.kind === 'again') {
    return { server: await restartServer(change, adoption.server.id, spec, operationId), operationId };
  }
  const { count, override } = await countServers(change);
  const quota = override ?? config.adoptedServersPerTeam;
  if (count >= quota) {
    const detail = `The team's quota is ${quota} adopted servers. Deregister one, or ask the operators to raise the quota.`;
    throw new Problem('quota_exceeded', detail);
  }
  return { server: await insertServer(change, spec, found?.name ?? '', operationId), operationId };
}

/** @returns null for a machine that is in no cloud project */
async function readServer(
  services: Services,
  caller: Caller,
  connection: ServerConnection,
  spec: AdoptedServerSpec,
): Promise<ServerReading | null> {
  if (joinsByCommand(spec.serverKind)) return null;
  const found = await readProject(services, caller, connection, spec.serverID, notInProject);
  checkMatchesServer(spec, found);
  return found;
}

function readProject(
  services: Services,
  caller: Caller,
  connection: ServerConnection,
  serverId: number,
  absent: () => Problem,
): Promise<ServerReading> {
  return serverInProject(services, caller.scope, tokenOf(services, connection), serverId, absent);
}

/** @throws Problem `connection_rejected` */
function tokenOf({ secrets }: Services, { id, phase, sealed }: ServerConnection): string {
  // A token whose key is no longer in the ring counts as absent. The team replaces it with a new token.
  const token = phase === 'Rejected' ? null : secrets.openOrNull(sealed, id);
  if (token === null) throw connectionRejected();
  return token;
}

const absentFromProject = (): Problem =>
  new Problem('not_found', 'The connection’s cloud project has no server with this number. Check the number.');

const notInProject = (): Problem =>
  invalidField(
    'validation_failed',
    '/spec/serverID',
    'is not a server of the connection’s cloud project. Check the number and the connection',
  );

/** A server with an intent always has an operation: both are written together. */
export const underWay = (server: AdoptedServerRecord): ServerOutcome => ({
  server,
  operationId: server.operationId as OperationId,
});
