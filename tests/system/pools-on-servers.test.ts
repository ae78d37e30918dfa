import { setTimeout as pause } from 'node:timers/promises';
import type { AdoptedServer, NodePool } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aCluster, aPool, change, codeOf, untilPhase } from '../support/clusters/journey.js';
import { findBrokenServers, findSharedRebuilds, type HeldServer } from '../support/clusters/judge-servers.js';
import { nodesOf } from '../support/clusters/nodes-of.js';
import { readRowChanges, recordRowChanges } from '../support/clusters/row-history.js';
import {
  adoptedServersPath,
  adoptServer,
  heldServers,
  makeServer,
  otherLabels,
  untilServers,
} from '../support/clusters/server-journey.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { drawer } from '../support/drawer.js';
import { killInTurns } from '../support/killer.js';

const SERVERS = 3;
const KILLS = 12;
const SEED = 4_711;
const PATIENCE_MS = 120_000;
const patience = { timeoutMs: PATIENCE_MS };
const POOL = '/clusters/web/node-pools/own/';

let system: ClusterSystem;
let team: ClusterTeam;
beforeAll(async () => {
  system = await startClusterSystem({
    ...{ apis: 2, reconcilers: 2 },
    reconcilerEnv: { SERVER_REBUILD_GRACE_MS: '4s', SERVER_DRAIN_MS: '20s', RECONCILE_LEASE_MS: '2s' },
  });
  team = system.teams[0] as ClusterTeam;
  await recordRowChanges(system.pool, ['adopted_server']);
}, PATIENCE_MS);
afterAll(() => system?.stop(), 60_000);

const aPoolOnServers = (maximum: number) => ({
  spec: { ...aPool({ name: 'own', minimum: 0, maximum }), source: 'pooled' },
});
const putPool = (maximum: number) =>
  team.member.insist({ method: 'PUT', path: POOL, body: aPoolOnServers(maximum) }, patience);
const getPool = async (): Promise<NodePool> => (await team.member.insist({ method: 'GET', path: POOL }, patience)).json;
const untilBacked = (count: number) =>
  waitFor(`${count} servers to be ready nodes`, async () => (await getPool()).status.backingReady === count, patience);

const isFree = ({ status }: AdoptedServer): boolean => status.phase === 'Ready' && status.claimedBy === null;
const untilAllFree = () => untilServers(team.member, 'free again', (servers) => servers.every(isFree), patience);
const numberOf = ({ metadata }: AdoptedServer): number => metadata.serverID;
const heldById = async (): Promise<ReadonlyMap<number, HeldServer>> =>
  new Map((await heldServers(system)).map((server) => [server.id, server]));
const rebuilds = async (): Promise<number[]> => (await heldServers(system)).map((server) => server.rebuilds);

/** By a kubeconfig, as the team sees them. */
async function nodes(): Promise<string[]> {
  const { json } = await team.member.insist({ method: 'POST', path: '/clusters/web/kubeconfig/', body: {} });
  return nodesOf(json.kubeconfig);
}
const machinesOnly = () => waitFor('nodes of machines only', async () => (await nodes()).length === 1, patience);

async function declareCluster(): Promise<void> {
  await change(team.member, 'PUT', '/clusters/web/', aCluster(system, { nodePools: [aPool()] }));
  await untilPhase(team.member, 'web', 'Ready');
}

async function expectUnharmed(): Promise<void> {
  for (const server of await heldServers(system)) {
    expect(server).toMatchObject({ powerOffs: 0, deletedBy: null });
    expect(server.labels).toEqual({ ...otherLabels, 'corral.dev/claim': expect.any(String) });
  }
  const calls = Object.keys(await system.cloud.calls());
  expect(calls.filter((route) => /^DELETE .*servers|poweroff|change_protection/.test(route))).toEqual([]);
}

describe('a node pool on adopted servers', () => {
  let claimed: AdoptedServer[];

  it('has as many ready nodes as it may have, and leaves the other servers alone', async () => {
    const specs = await Promise.all(Array.from({ length: SERVERS }, () => makeServer(system, team)));
    await Promise.all(specs.map((spec) => adoptServer(team.admin, spec)));
    await declareCluster();
    const before = await nodes();

    expect((await putPool(2)).status).toBe(201);
    await untilBacked(2);

    const servers = await untilServers(
      team.member,
      'of which two have joined',
      (all) => all.filter(({ status }) => status.phase === 'Joined').length === 2,
    );
    claimed = servers.filter(({ status }) => status.claimedBy !== null);
    expect(claimed.map(({ status }) => status.claimedBy)).toEqual([
      ...[{ cluster: 'web', nodePool: 'own' }],
      ...[{ cluster: 'web', nodePool: 'own' }],
    ]);
    expect(servers.filter(isFree)).toHaveLength(1);
    expect(await nodes()).toEqual([...before, ...claimed.map(({ metadata }) => metadata.name)].sort());
    expect(await rebuilds()).toEqual([2, 2, 1]);
    expect((await untilPhase(team.member, 'web', 'Ready')).spec.nodePools).toHaveLength(2);
  }, 240_000);

  it('keeps its servers from being deregistered', async () => {
    for (const server of claimed) {
      const path = `${adoptedServersPath}${numberOf(server)}/`;
      const answer = await team.admin.insist({ method: 'DELETE', path });
      expect([answer.status, codeOf(answer)]).toEqual([409, 'server_claimed']);
    }
  });

  it('lets go of a server when it is made smaller, which leaves the cluster and is clean', async () => {
    const [kept, left] = claimed.map(numberOf) as [number, number];

    expect((await putPool(1)).status).toBeLessThan(300);
    await untilBacked(1);
    const servers = await untilServers(team.member, 'of which two are free', (all) => all.filter(isFree).length === 2);

    expect(servers.filter((server) => !isFree(server)).map(numberOf)).toEqual([kept]);
    expect(await nodes()).toHaveLength(2);
    expect((await heldById()).get(left)).toMatchObject({ rebuilds: 3, userData: expect.not.stringContaining('token') });
    await expectUnharmed();
  }, 240_000);

  it('lets go of all when it is removed', async () => {
    const { status } = await team.member.insist({ method: 'DELETE', path: POOL });
    expect(status).toBeLessThan(300);

    await untilAllFree();
    await machinesOnly();
    expect(await rebuilds()).toEqual([3, 3, 1]);
    await expectUnharmed();
  }, 240_000);

  it('lets go of all when its cluster is deleted', async () => {
    await putPool(2);
    await untilBacked(2);

    const { state } = await change(team.member, 'DELETE', '/clusters/web/');

    expect(state).toBe('succeeded');
    await untilAllFree();
    expect(await rebuilds()).toEqual([5, 5, 1]);
    await expectUnharmed();
  }, 240_000);
});

describe('a node pool on adopted servers that changes while processes are killed', () => {
  const turns = fc.record({
    maximum: fc.integer({ min: 0, max: SERVERS }),
    thinkMs: fc.integer({ min: 0, max: 4_000 }),
  });

  it('comes to what was asked for last: no server is rebuilt twice for one reason, and no node stays behind', async () => {
    const problems: string[] = [];
    let [kills, isDone] = [0, false];
    await declareCluster();
    const next = drawer(turns, SEED);
    const changes = async (): Promise<void> => {
      while (kills < KILLS) {
        const { maximum, thinkMs } = next();
        const { status, text } = await putPool(maximum);
        // Servers that are leaving can be claimed when they have left.
        if (![200, 201, 202, 409].includes(status)) problems.push(`${maximum} servers were answered ${status} ${text}`);
        await pause(thinkMs);
      }
      await waitFor('all servers to be claimed', async () => (await putPool(SERVERS)).status < 300, patience);
      await untilBacked(SERVERS);
      await waitFor('the pool to be let go of', async () => (await putPool(0)).status < 300, patience);
      await untilAllFree();
      isDone = true;
    };
    await Promise.all([
      changes().catch((error: unknown) => {
        isDone = true;
        problems.push(String(error));
      }),
      killInTurns([...system.apis, ...system.reconcilers], {
        seed: SEED,
        isOver: () => isDone || kills >= 2 * KILLS,
        onKill: () => {
          kills += 1;
        },
        onProblem: (problem) => void problems.push(problem),
      }),
    ]);

    expect(problems).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(KILLS);
    await machinesOnly();
    const rows = await readRowChanges(system.pool);
    expect([...findBrokenServers(rows), ...findSharedRebuilds(rows)]).toEqual([]);
    const held = await heldById();
    const { rows: wanted } = await system.pool.query<{ id: string; generation: number }>(
      'SELECT server_id AS id, generation FROM adopted_server',
    );
    expect(wanted).toHaveLength(SERVERS);
    for (const { id, generation } of wanted) {
      expect(held.get(Number(id))?.rebuilds).toBeLessThanOrEqual(generation);
    }
    await expectUnharmed();
  }, 480_000);
});
