import { asClusterId, asNodePoolId } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nodePatch } from '../../test/support/a-server.js';
import { serverWorld, troubleArbitrary } from '../../test/support/server-world.js';
import type { NodeCluster } from './model.js';

/*
 * A machine that Corral cannot rebuild, in virtual time. Clusters claim and release it, hibernate and resume, and administrators
 * request its command and run it or not, at any moment, while processes die and responses are lost.
 */

type ClusterName = 'a' | 'b';
type Change =
  | { readonly kind: 'claim' | 'sleep' | 'wake'; readonly cluster: ClusterName }
  | { readonly kind: 'release' | 'issue' | 'run' };

const names = ['a', 'b'] as const;
const NODE = 'onprem-7';
const WEEK_MS = 604_800_000;

const changeArbitrary: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('claim' as const), cluster: fc.constantFrom(...names) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('sleep' as const, 'wake'), cluster: fc.constantFrom(...names) }),
  },
  { weight: 7, arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'issue', 'issue', 'run', 'run') }) },
);
const planArbitrary = fc.record({
  troubles: fc.array(troubleArbitrary, { maxLength: 60 }),
  /** What others do before the n-th call after the previous change. */
  changes: fc.array(fc.record({ afterCalls: fc.integer({ min: 1, max: 8 }), change: changeArbitrary }), {
    maxLength: 20,
  }),
  gapsMs: fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 20 }),
  startMs: fc.integer({ min: 0, max: 999 }),
  wish: fc.constantFrom<ClusterName | null>(...names, null),
});
type Plan = typeof planArbitrary extends fc.Arbitrary<infer P> ? P : never;

function aWorldOfMachines(plan: Plan) {
  const changes = [...plan.changes];
  let callsLeft = changes[0]?.afterCalls ?? Number.POSITIVE_INFINITY;
  const clusters = new Map<ClusterName, NodeCluster>(
    names.map((name) => [
      name,
      {
        id: asClusterId(name),
        shoot: { namespace: 'garden-t', name },
        isDeleting: false,
        isHibernated: false,
        canTakeNodes: true,
      },
    ]),
  );
  const world = serverWorld({
    troubles: plan.troubles,
    rebuildTroubles: [],
    startMs: plan.startMs,
    failsRebuild: false,
    row: { kind: 'onprem', serverId: 7 },
    onCall() {
      callsLeft -= 1;
      if (callsLeft > 0) return;
      const next = changes.shift();
      if (next !== undefined) apply(next.change);
      callsLeft = changes[0]?.afterCalls ?? Number.POSITIVE_INFINITY;
    },
  });
  for (const name of names) world.shoots.add(name);

  const claim = (name: ClusterName): void => {
    const { phase, claim: currentClaim, nodeName } = world.row();
    if (!['Ready', 'Adopting'].includes(phase) || currentClaim !== null || nodeName !== null) return;
    const cluster = clusters.get(name) as NodeCluster;
    world.change({ claim: { poolId: asNodePoolId(`pool-${name}`), poolName: 'metal', cluster } });
    world.makeDue();
  };
  const release = (): void => {
    if (world.row().claim === null) return;
    world.change({ claim: null });
    world.makeDue();
  };
  const sleep = (name: ClusterName, isHibernated: boolean): void => {
    const cluster = { ...(clusters.get(name) as NodeCluster), isHibernated, canTakeNodes: !isHibernated };
    clusters.set(name, cluster);
    world.shoots.of(name).isUp = !isHibernated;
    const { claim: currentClaim, currentCluster } = world.row();
    world.change({
      claim: currentClaim && {
        ...currentClaim,
        cluster: clusters.get(currentClaim.cluster.id as ClusterName) as NodeCluster,
      },
      currentCluster: currentCluster && (clusters.get(currentCluster.id as ClusterName) as NodeCluster),
    });
  };
  /** Like the API: only when the row allows the machine to join. */
  const issue = (): void => {
    const { phase, claim: currentClaim, currentCluster } = world.row();
    if (
      phase !== 'Joining' ||
      currentCluster === null ||
      currentClaim?.cluster.id !== currentCluster.id ||
      currentCluster.isHibernated
    )
      return;
    world.shoots.of(currentCluster.id).tokens.add(NODE);
    world.change({ generation: world.row().generation + 1, begunAt: new Date(world.nowMs()) });
    world.makeDue();
  };
  /** Registers the node in every cluster with a valid token. */
  const run = (): void => {
    for (const name of names) {
      const { isUp, tokens } = world.shoots.of(name);
      if (isUp && tokens.has(NODE)) world.shoots.register(name, NODE);
    }
  };
  const apply = (change: Change): void => {
    if (change.kind === 'claim') claim(change.cluster);
    else if (change.kind === 'release') release();
    else if (change.kind === 'issue') issue();
    else if (change.kind === 'run') run();
    else if (change.kind === 'sleep' || change.kind === 'wake') sleep(change.cluster, change.kind === 'sleep');
  };
  return {
    ...world,
    claim,
    release,
    sleep,
    issue,
    run,
    endTroubles() {
      changes.length = 0;
      world.endTroubles();
    },
  };
}
type WorldOfMachines = ReturnType<typeof aWorldOfMachines>;

/** Ends all foreign changes and faults. The team wants one state. */
async function convergeTo(world: WorldOfMachines, wish: ClusterName | null): Promise<void> {
  world.endTroubles();
  for (const name of names) world.sleep(name, false);
  for (let passes = 0; passes < 300; passes += 1) {
    const { phase, claim, nodeName } = world.row();
    if (claim !== null && claim.cluster.id !== wish) world.release();
    else if (wish !== null) world.claim(wish);
    if (wish !== null && phase === 'Joining') {
      world.issue();
      world.run();
    }
    const rests =
      wish === null ? claim === null && nodeName === null : phase === 'Joined' && claim?.cluster.id === wish;
    if (rests && world.last()?.message !== '') return;
    if (rests && wish !== null) return;
    const dueMs = world.dueMs();
    expect(dueMs).not.toBeNull();
    world.advance(Math.max(0, (dueMs ?? 0) - world.nowMs()) + 10);
    await world.pass();
  }
  throw new Error(`It does not finish: ${JSON.stringify(world.row())}`);
}

describe('a machine that joins by command, under crashes and lost responses', () => {
  it('converges without leftover nodes or tokens, and its adoption ends with its first node', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = aWorldOfMachines(plan);
        for (let passes = 0; passes < 60; passes += 1) {
          world.advance(plan.gapsMs[passes % plan.gapsMs.length] ?? 0);
          const dueMs = world.dueMs();
          if (dueMs !== null && dueMs <= world.nowMs()) await world.pass();
        }

        await convergeTo(world, plan.wish);

        const { phase, isAdopting, currentCluster } = world.row();
        expect(world.rebuilds).toEqual([]);
        expect(world.shoots.undrained()).toBe(0);
        expect(names.filter((name) => world.shoots.of(name).tokens.size > 0)).toEqual([]);
        const found = world.shoots.nodesNamed(NODE);
        expect(found.map(({ shoot }) => shoot)).toEqual(plan.wish === null ? [] : [plan.wish]);
        for (const { node } of found)
          expect(node).toMatchObject({ isReady: true, isUnschedulable: false, ...nodePatch });
        expect(currentCluster?.id ?? null).toBe(plan.wish);
        if (plan.wish !== null) expect(isAdopting).toBe(false);
        else expect(phase).toBe(isAdopting ? 'Adopting' : 'Ready');
      }),
      { numRuns: 300 },
    );
  });

  it('fails when its command is not run in time', async () => {
    const world = aWorldOfMachines({ troubles: [], changes: [], gapsMs: [0], startMs: 0, wish: 'a' });
    world.claim('a');
    await world.pass();
    expect(world.last()).toMatchObject({ phase: 'Joining', waiting: { reason: 'MachineAwaited' } });

    world.advance(WEEK_MS + 1_000);
    await world.pass();

    expect(world.last()).toMatchObject({ phase: 'Failed', operation: { to: 'failed', code: 'server_never_joined' } });
    world.release();
    await world.pass();
    await convergeTo(world, 'a');
  });
});
