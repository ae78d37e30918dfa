import { setTimeout as pause } from 'node:timers/promises';
import type { AdoptedServer, Cluster, NodePool } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Adopted, adoptOne } from '../../../support/clusters/adopt-one.js';
import { aCluster, aPool, change, codeOf, untilPhase } from '../../../support/clusters/journey.js';
import { nodesOf } from '../../../support/clusters/nodes-of.js';
import { readRowChanges, recordRowChanges } from '../../../support/clusters/row-history.js';
import {
  adoptedServers,
  adoptedServersPath,
  adoptServer,
  type HeldServer,
  heldServers,
  makeServer,
  otherLabels,
  untilServers,
} from '../../../support/clusters/server-journey.js';
import {
  answersTo,
  type ClusterSystem,
  type ClusterTeam,
  shortTimeouts,
  startClusterSystem,
} from '../../../support/clusters/start-cluster-system.js';
import { providerFaults } from '../../../support/crashes/cluster-steps.js';
import { drawer, minutes, seed } from '../../../support/crashes/draw.js';
import { findBrokenRules } from '../../../support/crashes/row-judge.js';
import { type Crashing, whileCrashing } from '../../../support/crashes/while-crashing.js';

const SERVERS = 3;
/** The changes continue for this many kills. The kills continue until all servers are released, but at most this many more. */
const KILLS = 5;
const KILLS_AFTERWARDS = 4;
const LANES = 2;
/** Adoptions per lane: below the quota, with room for servers that are being detached. */
const SERVERS_PER_LANE = 20;
/**
 * Faults of the provider continue while work is waited for. This is longer than a row of failures takes, with pauses of up to a
 * minute between them.
 */
const patience = { timeoutMs: 480_000 };
const POOL = '/clusters/web/node-pools/own/';

let system: ClusterSystem;
beforeAll(async () => {
  system = await startClusterSystem({
    apis: 2,
    reconcilers: 3,
    teams: ['acme', 'globex', 'initech'],
    reconcilerEnv: {
      ...shortTimeouts,
      SERVER_REBUILD_GRACE_MS: '4s',
      SERVER_DRAIN_MS: '20s',
      RECONCILE_LEASE_MS: '2s',
    },
  });
  await recordRowChanges(system.pool);
});
afterAll(() => system?.stop());

const team = (slug: string): ClusterTeam => system.teams.find((each) => each.slug === slug) as ClusterTeam;
const numberOf = ({ metadata }: AdoptedServer): number => metadata.serverID;
const isFree = ({ status }: AdoptedServer): boolean => status.phase === 'Ready' && status.claimedBy === null;
const heldById = async (): Promise<ReadonlyMap<number, HeldServer>> =>
  new Map((await heldServers(system)).map((server) => [server.id, server]));

/** What a team does with the pool `own` of its cluster `web`. */
const poolOf = ({ member }: ClusterTeam) => {
  const aPoolOnServers = (maximum: number) => ({
    spec: { ...aPool({ name: 'own', minimum: 0, maximum }), source: 'pooled' },
  });
  const get = async (): Promise<NodePool> => (await member.insist({ method: 'GET', path: POOL }, patience)).json;
  /** The nodes as the team sees them with a kubeconfig. */
  const nodes = async (): Promise<string[]> => {
    const { json } = await member.insist({ method: 'POST', path: '/clusters/web/kubeconfig/', body: {} });
    return nodesOf(json.kubeconfig);
  };
  return {
    nodes,
    put: (maximum: number) => member.insist({ method: 'PUT', path: POOL, body: aPoolOnServers(maximum) }, patience),
    untilBacked: (count: number) =>
      waitFor(`${count} servers to be ready nodes`, async () => (await get()).status.backingReady === count, patience),
    untilAllFree: () => untilServers(member, 'free again', (servers) => servers.every(isFree), patience),
    untilMachinesOnly: () => waitFor('nodes of machines only', async () => (await nodes()).length === 1, patience),
  };
};

async function declareCluster({ member }: ClusterTeam): Promise<void> {
  await change(member, 'PUT', '/clusters/web/', aCluster(system, { nodePools: [aPool()] }));
  await untilPhase(member, 'web', 'Ready');
}

/** Waits until the status of the cluster shows this many ready nodes of each pool, and no others. */
const untilCounted = ({ member }: ClusterTeam, ready: Readonly<Record<string, number>>) =>
  waitFor(
    'the nodes to be counted',
    async () => {
      const { status } = (await member.insist({ method: 'GET', path: '/clusters/web/' })).json as Cluster;
      const counted = status.nodePools.map(({ name, nodes }) => [name, nodes]);
      const expected = Object.entries(ready).map(([name, count]) => [name, { ready: count, total: count }]);
      expect(counted).toEqual(expected);
      return true;
    },
    patience,
  );

/** @returns the numbers of the servers */
async function adoptServers(owner: ClusterTeam): Promise<number[]> {
  const specs = await Promise.all(Array.from({ length: SERVERS }, () => makeServer(system, owner)));
  await Promise.all(specs.map((spec) => adoptServer(owner.admin, spec)));
  return specs.map(({ serverID }) => serverID);
}

async function expectUnharmed(ids: readonly number[]): Promise<void> {
  const held = await heldById();
  for (const id of ids) {
    expect(held.get(id)).toMatchObject({ harms: [] });
    expect(held.get(id)?.labels).toEqual({ ...otherLabels, 'corral.dev/claim': expect.any(String) });
  }
  const calls = Object.keys(await system.cloud.calls());
  expect(calls.filter((route) => /^DELETE .*servers|poweroff|change_protection/.test(route))).toEqual([]);
}

describe('a node pool on adopted servers', () => {
  it('has as many ready nodes as it may have, and releases them when it shrinks, when it is removed and when its cluster is deleted', async () => {
    const acme = team('acme');
    const pool = poolOf(acme);
    const ids = await adoptServers(acme);
    const rebuilds = async () =>
      (await heldServers(system)).filter(({ id }) => ids.includes(id)).map((e) => e.rebuilds);
    await declareCluster(acme);
    const before = await pool.nodes();

    // Two of three servers join, and the third is left alone.
    expect((await pool.put(2)).status).toBe(201);
    await pool.untilBacked(2);
    const servers = await untilServers(
      acme.member,
      'of which two have joined',
      (all) => all.filter(({ status }) => status.phase === 'Joined').length === 2,
    );
    const claimed = servers.filter(({ status }) => status.claimedBy !== null);
    const claim = { cluster: 'web', nodePool: 'own' };
    expect(claimed.map(({ status }) => status.claimedBy)).toEqual([claim, claim]);
    expect(servers.filter(isFree)).toHaveLength(1);
    expect(await pool.nodes()).toEqual([...before, ...claimed.map(({ metadata }) => metadata.name)].sort());
    expect(await rebuilds()).toEqual([2, 2, 1]);
    expect((await untilPhase(acme.member, 'web', 'Ready')).spec.nodePools).toHaveLength(2);
    await untilCounted(acme, { general: 1, own: 2 });
    for (const server of claimed) {
      const path = `${adoptedServersPath}${numberOf(server)}/`;
      const answer = await acme.admin.insist({ method: 'DELETE', path });
      expect([answer.status, codeOf(answer)]).toEqual([409, 'server_claimed']);
    }

    // When the pool shrinks, it releases one server, which leaves the cluster and is clean.
    const [kept, left] = claimed.map(numberOf) as [number, number];
    expect((await pool.put(1)).status).toBeLessThan(300);
    await pool.untilBacked(1);
    const two = await untilServers(acme.member, 'of which two are free', (all) => all.filter(isFree).length === 2);
    expect(two.filter((server) => !isFree(server)).map(numberOf)).toEqual([kept]);
    expect(await pool.nodes()).toHaveLength(2);
    await untilCounted(acme, { general: 1, own: 1 });
    expect((await heldById()).get(left)).toMatchObject({ rebuilds: 3, userData: expect.not.stringContaining('token') });

    // When the pool is removed, it releases all servers.
    expect((await acme.member.insist({ method: 'DELETE', path: POOL })).status).toBeLessThan(300);
    await pool.untilAllFree();
    await pool.untilMachinesOnly();
    expect(await rebuilds()).toEqual([3, 3, 1]);

    // The pool does the same when the cluster is deleted.
    await pool.put(2);
    await pool.untilBacked(2);
    expect(await change(acme.member, 'DELETE', '/clusters/web/')).toMatchObject({ state: 'succeeded' });
    await pool.untilAllFree();
    expect(await rebuilds()).toEqual([5, 5, 1]);
    await expectUnharmed(ids);
  }, 480_000);
});

describe('while processes are killed', () => {
  const turns = fc.record({
    maximum: fc.integer({ min: 0, max: SERVERS }),
    thinkMs: fc.integer({ min: 0, max: 4_000 }),
  });

  it(
    `a pool reaches its last requested size, and no server is rebuilt twice for one reason (seed ${seed})`,
    async () => {
      const [owner, adopter] = [team('globex'), team('initech')];
      const pool = poolOf(owner);
      const ids = await adoptServers(owner);
      await declareCluster(owner);
      const endsAt = performance.now() + minutes * 60_000;
      const adopted: Adopted[] = [];
      const next = drawer(turns, seed);
      let killsMax = Number.POSITIVE_INFINITY;
      const hasEnough = ({ isOver, kills }: Crashing): boolean =>
        isOver() || (kills() >= KILLS && performance.now() >= endsAt);
      const changes = async (run: Crashing): Promise<void> => {
        while (!hasEnough(run)) {
          const { maximum, thinkMs } = next();
          const { status, text } = await pool.put(maximum);
          // Servers that are leaving can be claimed once they have left.
          if (![200, 201, 202, 409].includes(status)) run.report(`${maximum} servers were answered ${status} ${text}`);
          await pause(thinkMs);
        }
        killsMax = run.kills() + KILLS_AFTERWARDS;
        await waitFor('all servers to be claimed', async () => (await pool.put(SERVERS)).status < 300, patience);
        await pool.untilBacked(SERVERS);
        await waitFor('the pool to shrink to nothing', async () => (await pool.put(0)).status < 300, patience);
        await pool.untilAllFree();
      };
      const adoptions = async (run: Crashing): Promise<void> => {
        for (let number = 0; number < SERVERS_PER_LANE && !hasEnough(run); number += 1) {
          adopted.push(await adoptOne(system, adopter, number, patience));
        }
      };
      const crashes = {
        seed,
        programs: [...system.apis, ...system.reconcilers],
        faults: { cloud: system.cloud, of: providerFaults, everyMs: 1_500 },
        answers: () => answersTo(system),
        isEnough: (kills: number) => kills >= killsMax,
      };
      const { kills, problems } = await whileCrashing(crashes, (run) =>
        Promise.all([changes(run), ...Array.from({ length: LANES }, () => adoptions(run))]),
      );

      expect(problems).toEqual([]);
      expect(kills).toBeGreaterThanOrEqual(KILLS);
      await pool.untilMachinesOnly();
      expect(findBrokenRules(await readRowChanges(system.pool))).toEqual([]);
      await expectRebuiltForReasons(owner, ids);
      await expectUnharmed(ids);
      await expectAdoptedOnce(adopter, adopted);
    },
    1_200_000 + minutes * 2 * 60_000,
  );

  /** Asserts that there were no more rebuilds than acknowledgements, joins and leaves. */
  async function expectRebuiltForReasons(owner: ClusterTeam, ids: readonly number[]): Promise<void> {
    const held = await heldById();
    const { rows } = await system.pool.query<{ id: string; generation: number }>(
      'SELECT server_id AS id, generation FROM adopted_server WHERE team_id = $1',
      [owner.id],
    );
    expect(rows.map(({ id }) => Number(id)).sort()).toEqual([...ids].sort());
    for (const { id, generation } of rows) {
      expect(held.get(Number(id))?.rebuilds).toBeLessThanOrEqual(generation);
    }
  }

  /** Asserts one rebuild for each acknowledgement that was not interrupted, and a status that fits the provider. */
  async function expectAdoptedOnce({ member }: ClusterTeam, adopted: readonly Adopted[]): Promise<void> {
    expect(adopted.length).toBeGreaterThanOrEqual(LANES);
    const held = await heldById();
    for (const { serverId, operation, isDetached } of adopted) {
      const server = held.get(serverId) as HeldServer;
      expect(server).toMatchObject({ harms: [] });
      expect(isDetached ? ['succeeded', 'superseded'] : ['succeeded']).toContain(operation.state);
      if (operation.state === 'succeeded') expect([serverId, server.rebuilds]).toEqual([serverId, 1]);
      expect(server.rebuilds).toBeLessThanOrEqual(1);
      expect(server.labels).toEqual({
        ...otherLabels,
        ...(isDetached ? {} : { 'corral.dev/claim': expect.any(String) }),
      });
    }
    const listed = await adoptedServers(member);
    expect(listed.map(numberOf).sort()).toEqual(
      adopted
        .filter(({ isDetached }) => !isDetached)
        .map(({ serverId }) => serverId)
        .sort(),
    );
    for (const { metadata, status } of listed) {
      expect([metadata.serverID, metadata.name, status.phase]).toEqual([
        metadata.serverID,
        held.get(metadata.serverID)?.name,
        'Ready',
      ]);
    }
  }
});
