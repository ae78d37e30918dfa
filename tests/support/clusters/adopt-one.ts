import type { Operation } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { operationIdOf, type TeamClient } from './client.js';
import { adoptedServersPath, adoptionOf, makeServer } from './server-journey.js';
import type { ClusterSystem, ClusterTeam } from './start-cluster-system.js';

/** The outcome of one acknowledgement. */
export interface Adopted {
  readonly serverId: number;
  readonly operation: Operation;
  readonly isDetached: boolean;
}

interface Patience {
  readonly timeoutMs: number;
}

/**
 * Adopts a new server. Its number decides its kind. Every third server is detached: every sixth at any moment of its
 * adoption, the others after the adoption has ended.
 */
export async function adoptOne(
  system: Pick<ClusterSystem, 'cloud'>,
  team: ClusterTeam,
  number: number,
  patience: Patience,
): Promise<Adopted> {
  const { admin } = team;
  const spec = await makeServer(system, team, { isArm: number % 2 === 1, hasSshKeys: number % 3 === 0 });
  const accepted = await admin.insist(adoptionOf(spec), patience);
  const operationId = accepted.status === 202 ? operationIdOf(accepted) : null;
  if (operationId === null) {
    throw new Error(`server ${spec.serverID} was not adopted: ${accepted.status} ${accepted.text}`);
  }
  const isDetached = number % 3 === 2;
  if (!isDetached || number % 2 === 0) await admin.untilEnded(operationId, patience);
  if (isDetached) await detach(admin, spec.serverID, patience);
  return { serverId: spec.serverID, operation: await admin.untilEnded(operationId, patience), isDetached };
}

async function detach(admin: TeamClient, serverId: number, patience: Patience): Promise<void> {
  const path = `${adoptedServersPath}${serverId}/`;
  const { status, text } = await admin.insist({ method: 'DELETE', path }, patience);
  // The first request may have been carried out although its answer was lost.
  if (![204, 404].includes(status)) throw new Error(`server ${serverId} was not detached: ${status} ${text}`);
  await waitFor(
    `server ${serverId} to be detached`,
    async () => (await admin.insist({ method: 'GET', path })).status === 404,
    patience,
  );
}
