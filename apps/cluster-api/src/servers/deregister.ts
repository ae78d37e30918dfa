import { randomUUID } from 'node:crypto';
import { asOperationId, type OperationId } from '@corral/contracts';
import type { Caller } from '../changes/caller.js';
import { found } from '../problem.js';
import type { Services } from '../services.js';
import { underWay } from './adopt.js';
import { checkIsDetachable } from './rules.js';
import { changeServers, detachServer, findServer, lockServerOf, serverConnectionOf } from './store.js';
import type { AdoptedServerRecord } from './view.js';

/**
 * Accepts the detachment of a server. The server itself is not changed.
 *
 * @throws Problem `not_found`, `server_claimed`
 */
export async function deregisterServer(
  services: Services,
  caller: Caller,
  ref: string,
  serverId: number,
): Promise<OperationId> {
  const connection = await serverConnectionOf(services.prisma, caller, ref);
  const { server, operationId } = await changeServers(services, caller, connection.id, async (change) => {
    const present = found(await lockServerOf(change, serverId));
    if (present.deregisterRequestedAt !== null) return underWay(present);
    checkIsDetachable(present, connection);
    const operationId = asOperationId(randomUUID());
    return { server: await detachServer(change, present.id, operationId), operationId };
  });
  services.wake.server(server.id);
  return operationId;
}

/**
 * The server as a deregistration would find it.
 *
 * @throws Problem as the deregistration does
 */
export async function previewDeregistration(
  { prisma }: Services,
  caller: Caller,
  ref: string,
  serverId: number,
): Promise<AdoptedServerRecord> {
  const connection = await serverConnectionOf(prisma, caller, ref);
  const server = found(await findServer(prisma, caller, ref, serverId));
  if (server.deregisterRequestedAt === null) checkIsDetachable(server, connection);
  return server;
}
