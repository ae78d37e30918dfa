import { silentLog } from '@corral/service';
import { expect } from '@jest/globals';
import { observedHash } from '../../../src/clusters/observe.js';
import { clusterPass, type PassDeps } from '../../../src/clusters/pass.js';
import { recordStore } from '../../../src/clusters/record.js';
import { desiredStore } from '../../../src/clusters/store.js';
import { authorities, catalogue } from '../../../src/garden/catalogue.js';
import { dueStore } from '../../../src/garden/follow-shoots.js';
import { holdStore } from '../../../src/loop/hold.js';
import { clusterTable, leaseStore } from '../../../src/loop/lease.js';
import type { ClusterRows } from '../cluster-rows.js';
import { modelClient } from './model-client.js';

export const LEASE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const running = () => new AbortController().signal;

/** One cluster of a separate team in a separate garden. */
export async function aWorld(at: ClusterRows) {
  const team = await at.addTeam();
  const connectionId = await at.addConnection(team);
  const cluster = await at.declare(team, connectionId);
  const garden = modelClient();
  return { at, team, connectionId, cluster, garden };
}
export type World = Awaited<ReturnType<typeof aWorld>>;

/** `between` is called before and after every call to the garden and the database. */
export function passOn({ at, garden }: Pick<World, 'at' | 'garden'>, between?: () => Promise<void>) {
  const deps: PassDeps = {
    garden: tripped(garden.client, between),
    leases: tripped(leaseStore(at.pool, clusterTable), between),
    desired: tripped(desiredStore(at), between),
    records: tripped(recordStore(at), between),
    holds: holdStore(at.prisma),
    catalogue: catalogue(garden.client, 0),
    // The model identifies tokens by their version.
    openToken: () => '1',
    authorities: authorities(garden.client, 10),
    own: { networkingType: 'calico', features: new Set() },
    leaseMs: LEASE_MS,
    log: silentLog,
  };
  return clusterPass(deps);
}

function tripped<T extends object>(target: T, between: (() => Promise<void>) | undefined): T {
  if (between === undefined) return target;
  return Object.fromEntries(
    Object.entries(target).map(([name, call]) => [
      name,
      async (...args: unknown[]) => {
        await between();
        const answer = await call(...args);
        await between();
        return answer;
      },
    ]),
  ) as T;
}

/** Lets time pass and reports the garden's state like the watch and the lists, so that the cluster becomes due if it must. */
export async function untilDue({ at, cluster, garden }: World): Promise<void> {
  await at.pass(cluster.id, HOUR_MS);
  const { shoot } = garden.model;
  const row = await at.row(cluster.id);
  if (row === undefined) return;
  const sighting = {
    namespace: shoot?.metadata.namespace ?? '',
    shootName: row.shoot_name,
    hash: shoot === null ? 'absent' : observedHash(shoot),
  };
  await dueStore(at.pool).makeChangedDue([sighting]);
  if (shoot === null && row.shoot_uid !== null && row.observed_hash !== 'absent') {
    await dueStore(at.pool).makeMissingDue({ seenNames: [], limit: 1_000 }, null);
  }
}

/** Alternates passes and progress of the garden until the operation has ended and nothing happens. */
export async function untilSettled(world: World, operationId: string): Promise<void> {
  const { at } = world;
  for (let round = 0; round < 60; round += 1) {
    world.garden.model.advance();
    await untilDue(world);
    await passOn(world)(world.cluster.id, running());
    const { state } = await at.operation(operationId);
    if (!['queued', 'running'].includes(state) && world.garden.model.isIdle()) return;
  }
  throw new Error(
    `Its passes do not end: ${JSON.stringify(await at.operation(operationId))} ${JSON.stringify(await at.row(world.cluster.id))}`,
  );
}

export async function expectConverged(world: World, operationId: string): Promise<void> {
  const { at } = world;
  expect(await at.operation(operationId)).toMatchObject({ state: 'succeeded', progress: 100 });
  const row = await at.row(world.cluster.id);
  expect(row).toMatchObject({ phase: 'Ready', observed_generation: row.generation, lease_until: null, failures: 0 });
  expect(world.garden.model.creations).toBe(1);
  expect(row.shoot_uid).toBe(world.garden.model.shoot?.metadata.uid);
}
