import { asClusterId, asNodePoolId, serverLabels } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nodePatch } from '../../test/support/a-server.js';
import { shootIn } from '../../test/support/fake-shoots.js';
import { rebuildTroubleArbitrary, serverWorld, troubleArbitrary, worldTimes } from '../../test/support/server-world.js';
import type { NodeCluster } from './model.js';

describe('an adoption under crashes and lost responses', () => {
  const planArbitrary = fc.record({
    troubles: fc.array(troubleArbitrary, { maxLength: 60 }),
    rebuildTroubles: fc.array(rebuildTroubleArbitrary, { maxLength: 4 }),
    /** Delays between passes in milliseconds. */
    gapsMs: fc.oneof(
      fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 20 }),
      fc.array(fc.integer({ min: 0, max: 70_000 }), { minLength: 1, maxLength: 40 }),
    ),
    failsRebuild: fc.boolean(),
    startMs: fc.integer({ min: 0, max: 999 }),
  });

  it('rebuilds at most once, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = serverWorld(plan);
        for (let passes = 0; passes < 400 && ['Adopting', 'Rebuilding'].includes(world.row().phase); passes += 1) {
          await world.pass();
          world.advance(plan.gapsMs[passes % plan.gapsMs.length] ?? 0);
          // Lets plans without any delay end too.
          world.advance(1_000);
          expect(world.rebuilds.length).toBeLessThanOrEqual(1);
        }
        world.advance(600_000);

        expect(world.rebuilds.length).toBeLessThanOrEqual(1);
        const { phase } = world.row();
        const operation = world.last()?.operation;
        if (phase === 'Ready') {
          expect(operation).toEqual({ to: 'succeeded' });
          expect(world.rebuilds).toHaveLength(1);
          expect(plan.failsRebuild).toBe(false);
          expect(world.labels()).toEqual({ env: 'prod', [serverLabels.claim]: 'token' });
        } else {
          expect(phase).toBe('Failed');
          expect(operation).toMatchObject({ to: 'failed', code: expect.stringMatching(/^server_/) });
        }
      }),
      { numRuns: 150 },
    );
  });

  it('becomes Ready when the rebuild succeeds and the faults end', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = serverWorld({ ...plan, failsRebuild: false, troubles: plan.troubles.slice(0, 12) });
        for (let passes = 0; passes < 200 && world.row().phase !== 'Ready'; passes += 1) {
          await world.pass();
          world.advance(5_000);
        }

        expect(world.row().phase).toBe('Ready');
        expect(world.rebuilds).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });
});

/*
 * The same world with clusters that claim and release the server, hibernate, resume and are deleted at any moment, while
 * processes die and responses are lost.
 */

const names = ['a', 'b', 'c'] as const;
type ClusterName = (typeof names)[number];
interface Change {
  readonly kind: 'claim' | 'release' | 'sleep' | 'wake' | 'delete' | 'end' | 'issue' | 'run';
  readonly cluster: ClusterName;
}
const changeArbitrary = (kinds: readonly Change['kind'][], clusters: readonly ClusterName[] = names) =>
  fc.record({ kind: fc.constantFrom(...kinds), cluster: fc.constantFrom(...clusters) });

const lifeOf = (change: fc.Arbitrary<Change>, { afterCalls, changes }: { afterCalls: number; changes: number }) => ({
  troubles: fc.array(troubleArbitrary, { maxLength: 60 }),
  /** What others do before the n-th call after the previous change. */
  changes: fc.array(fc.record({ afterCalls: fc.integer({ min: 1, max: afterCalls }), change }), { maxLength: changes }),
  gapsMs: fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 20 }),
  startMs: fc.integer({ min: 0, max: 999 }),
});
type Life = {
  [K in keyof ReturnType<typeof lifeOf>]: ReturnType<typeof lifeOf>[K] extends fc.Arbitrary<infer T> ? T : never;
};
const calm: Life = { troubles: [], changes: [], gapsMs: [0], startMs: 0 };

type Options = Partial<Parameters<typeof serverWorld>[0]>;

function worldOfClusters(life: Life, { onCall, ...options }: Options, act: (change: Change) => void = () => undefined) {
  const changes = [...life.changes];
  const callsToNext = () => changes[0]?.afterCalls ?? Number.POSITIVE_INFINITY;
  let callsLeft = callsToNext();
  const clusters = new Map<string, NodeCluster>(
    names.map((name) => {
      const shoot = { namespace: 'garden-t', name };
      return [name, { id: asClusterId(name), shoot, isDeleting: false, isHibernated: false, canTakeNodes: true }];
    }),
  );
  const world = serverWorld({
    rebuildTroubles: [],
    failsRebuild: false,
    ...life,
    ...options,
    onCall() {
      onCall?.();
      callsLeft -= 1;
      if (callsLeft > 0) return;
      const next = changes.shift();
      if (next !== undefined) apply(next.change);
      callsLeft = callsToNext();
    },
  });
  for (const name of names) world.shoots.add(name);

  const refresh = (): void => {
    const { claim, currentCluster } = world.row();
    world.change({
      claim: claim && { ...claim, cluster: clusters.get(claim.cluster.id) as NodeCluster },
      currentCluster: currentCluster && (clusters.get(currentCluster.id) ?? null),
    });
  };
  const setCluster = (name: ClusterName, next: Partial<NodeCluster>): void => {
    const known = clusters.get(name);
    if (known === undefined) return;
    const merged = { ...known, ...next };
    clusters.set(name, { ...merged, canTakeNodes: !merged.isHibernated && !merged.isDeleting });
    refresh();
  };
  const release = (): void => {
    if (world.row().claim === null) return;
    world.change({ claim: null });
    world.makeDue();
  };
  const claim = (name: ClusterName): void => {
    const row = world.row();
    const cluster = clusters.get(name);
    if (cluster === undefined || cluster.isDeleting) return;
    if (!['Ready', 'Adopting'].includes(row.phase) || row.claim !== null || row.nodeName !== null) return;
    world.change({ claim: { poolId: asNodePoolId(`pool-${name}`), poolName: 'metal', cluster } });
    world.makeDue();
  };
  const sleep = (name: ClusterName, isHibernated: boolean): void => {
    if (!clusters.has(name)) return;
    world.shoots.of(name).isUp = !isHibernated;
    setCluster(name, { isHibernated });
  };
  const remove = (name: ClusterName): void => {
    if (world.row().claim?.cluster.id === name) release();
    setCluster(name, { isDeleting: true });
  };
  const end = (name: ClusterName): void => {
    if (clusters.get(name)?.isDeleting !== true) return;
    clusters.delete(name);
    world.shoots.of(name).isUp = false;
    refresh();
  };
  const apply = (change: Change): void => {
    const { kind, cluster } = change;
    if (kind === 'claim') claim(cluster);
    else if (kind === 'release') release();
    else if (kind === 'delete') remove(cluster);
    else if (kind === 'end') end(cluster);
    else if (kind === 'sleep' || kind === 'wake') sleep(cluster, kind === 'sleep');
    else act(change);
  };
  return {
    ...world,
    apply,
    claim,
    release,
    clusters,
    endTroubles() {
      changes.length = 0;
      world.endTroubles();
      for (const name of names) sleep(name, false);
    },
  };
}
type World = ReturnType<typeof worldOfClusters>;

/** Passes over the server when it is due, with troubles and changes by others. */
async function live(world: World, { gapsMs }: Life, othersAct: () => void = () => undefined): Promise<void> {
  for (let passes = 0; passes < 60; passes += 1) {
    world.advance(gapsMs[passes % gapsMs.length] ?? 0);
    othersAct();
    const dueMs = world.dueMs();
    if (dueMs !== null && dueMs <= world.nowMs()) await world.pass();
  }
}

/** Ends all foreign changes and faults. The team wants one state. */
async function convergeTo(
  world: World,
  wish: ClusterName | null,
  othersAct: () => void = () => undefined,
): Promise<void> {
  world.endTroubles();
  for (let passes = 0; passes < 600; passes += 1) {
    const { phase, claim, nodeName, kind } = world.row();
    const isWrong = claim !== null && (claim.cluster.id !== wish || phase === 'Failed');
    if (isWrong) world.release();
    else if (wish !== null) world.claim(wish);
    const isOut = claim === null && nodeName === null && ['Ready', 'Adopting'].includes(phase);
    const isThere = wish === null ? isOut : phase === 'Joined' && !isWrong;
    // A machine that has left must be wiped by its owner, who is told so.
    const isTold = wish === null && kind !== 'cloud';
    if (isThere && ((world.last()?.message ?? '') !== '') === isTold) return;
    const dueMs = world.dueMs();
    expect(dueMs).not.toBeNull();
    world.advance(Math.max(0, (dueMs ?? 0) - world.nowMs()) + 10);
    othersAct();
    await world.pass();
  }
  throw new Error(`It does not finish: ${JSON.stringify(world.row())}`);
}

describe('a server that clusters claim and release, under crashes and lost responses', () => {
  const change = fc.oneof(
    { weight: 4, arbitrary: changeArbitrary(['claim']) },
    { weight: 3, arbitrary: changeArbitrary(['release']) },
    { weight: 2, arbitrary: changeArbitrary(['sleep', 'wake']) },
    // Cluster `c` is never deleted.
    { weight: 1, arbitrary: changeArbitrary(['delete', 'end'], ['a', 'b']) },
  );
  const planArbitrary = fc.record({
    ...lifeOf(change, { afterCalls: 20, changes: 12 }),
    rebuildTroubles: fc.array(rebuildTroubleArbitrary, { maxLength: 6 }),
    /** How often the node agent registers again after its Node was deleted. */
    returns: fc.integer({ min: 0, max: 2 }),
    keepsPods: fc.boolean(),
    /** Short values end in a failure with work still in progress. */
    joinMsMax: fc.constantFrom(30_000, 90_000, worldTimes.joinMsMax),
    wish: fc.constantFrom<'a' | 'c' | null>('a', 'c', null),
  });
  type Plan = typeof planArbitrary extends fc.Arbitrary<infer P> ? P : never;

  const BOOT_MS = 30_000;
  const TOKEN_MS = 3_600_000;
  /** Maximum duration of a pass in milliseconds. */
  const PASS_MS_MAX = 300_000;

  /** With a node agent that may register again under its name until the server is wiped. */
  function withAgent(plan: Plan) {
    const perGeneration = new Map<number, number>();
    const times = { ...worldTimes, joinMsMax: plan.joinMsMax };
    const world = worldOfClusters(plan, {
      times,
      rebuildTroubles: plan.rebuildTroubles,
      row: { phase: 'Ready', labelledAt: new Date(), observedAt: null },
      labels: { [serverLabels.claim]: 'token' },
      onCall: () => runAgent(),
      onRebuild({ generation, userData }) {
        const row = world.row();
        expect(row.generation).toBe(generation);
        perGeneration.set(generation, (perGeneration.get(generation) ?? 0) + 1);
        expect(perGeneration.get(generation)).toBe(1);
        expect(row.nodeName).toBe('web');
        const joins = shootIn(userData);
        expect(row.purpose).toBe(joins === null ? 'leave' : 'join');
        // A cluster that is gone has no members.
        if (joins !== null && row.currentCluster !== null) expect(row.currentCluster.id).toBe(joins);
      },
      onAsk() {
        // A node that registered during the pass is found after the rebuild.
        const mayStay = world.nowMs() - PASS_MS_MAX;
        if (world.row().phase === 'Leaving' && livingNodes().length > 0) expect(cameMs).toBeGreaterThan(mayStay);
      },
    });
    for (const name of names) world.shoots.of(name).keepsPods = plan.keepsPods;

    let registered: { rebuild: number; goneMs: number | null } | null = null;
    let returns = plan.returns;
    let cameMs = 0;
    const register = (shootName: string): void => {
      world.shoots.register(shootName, 'web');
      cameMs = world.nowMs();
    };
    const livingNodes = () =>
      world.shoots.nodesNamed('web').filter(({ shoot }) => world.clusters.get(shoot)?.isDeleting === false);
    /** Runs the node agent of the server against the clusters that accept it. */
    const runAgent = (): void => {
      const last = world.rebuilds.at(-1);
      const now = world.nowMs();
      const shootName = last === undefined || now < last.endsMs ? null : shootIn(last.userData);
      for (const { shoot, node } of world.shoots.nodesNamed('web')) node.isReady = shoot === shootName;
      if (last === undefined || shootName === null || now < last.endsMs + BOOT_MS) return;
      const shoot = world.shoots.of(shootName);
      if (!shoot.isUp || shoot.nodes.has('web')) return;
      if (registered?.rebuild !== last.id) {
        if (now > last.startedMs + TOKEN_MS) return;
        register(shootName);
        registered = { rebuild: last.id, goneMs: null };
        return;
      }
      registered.goneMs ??= now;
      if (returns === 0 || now < registered.goneMs + 8_000) return;
      returns -= 1;
      registered.goneMs = null;
      register(shootName);
    };
    const endTroubles = () => {
      times.joinMsMax = worldTimes.joinMsMax;
      world.endTroubles();
    };
    return { ...world, runAgent, livingNodes, endTroubles };
  }

  it('converges with at most one rebuild per generation', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async (plan) => {
        const world = withAgent(plan);
        world.claim('a');
        await live(world, plan, world.runAgent);
        const wish = plan.wish !== null && world.clusters.get(plan.wish)?.isDeleting === false ? plan.wish : null;

        await convergeTo(world, wish, world.runAgent);

        world.advance(worldTimes.rebuildGraceMs);
        expect(world.shoots.undrained()).toBe(0);
        const found = world.livingNodes();
        expect(found.map(({ shoot }) => shoot)).toEqual(wish === null ? [] : [wish]);
        for (const { node } of found)
          expect(node).toMatchObject({ isReady: true, isUnschedulable: false, ...nodePatch });
        expect(shootIn(world.rebuilds.at(-1)?.userData ?? null)).toBe(wish);
        expect(world.row().currentCluster?.id ?? null).toBe(wish);
      }),
      { numRuns: 150 },
    );
  });

  it('is not wiped for the next generation while a rebuild request of a failed one may still arrive', async () => {
    const lost = { kind: 'lost', acts: 'later', afterS: 45 } as const;
    const plan = { ...calm, rebuildTroubles: [lost], returns: 0, keepsPods: false, joinMsMax: 10_000, wish: null };
    const world = withAgent(plan);
    world.claim('c');
    while (world.row().phase !== 'Failed') {
      world.advance(5_000);
      await world.pass();
    }
    world.release();

    await convergeTo(world, null, world.runAgent);

    expect(world.rebuilds.map(({ userData }) => shootIn(userData))).toEqual(['c', null]);
  });
});

describe('a machine that joins by command, under crashes and lost responses', () => {
  const NODE = 'onprem-7';
  const WEEK_MS = 604_800_000;
  const change = fc.oneof(
    { weight: 3, arbitrary: changeArbitrary(['claim']) },
    { weight: 1, arbitrary: changeArbitrary(['sleep', 'wake']) },
    { weight: 7, arbitrary: changeArbitrary(['release', 'issue', 'issue', 'run', 'run']) },
  );
  const planArbitrary = fc.record({
    ...lifeOf(change, { afterCalls: 8, changes: 20 }),
    wish: fc.constantFrom<ClusterName | null>(...names, null),
  });

  /** Administrators request the command of the machine and run it, or not. */
  function aMachine(life: Life) {
    const world = worldOfClusters(life, { row: { kind: 'onprem', serverId: 7 } }, ({ kind }) => {
      if (kind === 'issue') issue();
      else run();
    });
    /** Issues a command as the API does: only when the row allows the machine to join. */
    const issue = (): void => {
      const { phase, claim, currentCluster } = world.row();
      if (phase !== 'Joining' || currentCluster === null || currentCluster.isHibernated) return;
      if (claim?.cluster.id !== currentCluster.id) return;
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
    const join = () => {
      issue();
      run();
    };
    return { ...world, join };
  }

  it('converges without leftover nodes or tokens, and its adoption ends with its first node', async () => {
    await fc.assert(
      fc.asyncProperty(planArbitrary, async ({ wish, ...life }) => {
        const world = aMachine(life);
        await live(world, life);

        await convergeTo(world, wish, world.join);

        const { phase, isAdopting, currentCluster } = world.row();
        expect(world.rebuilds).toEqual([]);
        expect(world.shoots.undrained()).toBe(0);
        expect(names.filter((name) => world.shoots.of(name).tokens.size > 0)).toEqual([]);
        const found = world.shoots.nodesNamed(NODE);
        expect(found.map(({ shoot }) => shoot)).toEqual(wish === null ? [] : [wish]);
        for (const { node } of found)
          expect(node).toMatchObject({ isReady: true, isUnschedulable: false, ...nodePatch });
        expect(currentCluster?.id ?? null).toBe(wish);
        if (wish !== null) expect(isAdopting).toBe(false);
        else expect(phase).toBe(isAdopting ? 'Adopting' : 'Ready');
      }),
      { numRuns: 150 },
    );
  });

  it('fails when its command is not run in time', async () => {
    const world = aMachine(calm);
    world.claim('a');
    await world.pass();
    expect(world.last()).toMatchObject({ phase: 'Joining', waiting: { reason: 'MachineAwaited' } });

    world.advance(WEEK_MS + 1_000);
    await world.pass();

    expect(world.last()).toMatchObject({ phase: 'Failed', operation: { to: 'failed', code: 'server_never_joined' } });
    world.release();
    await world.pass();
    await convergeTo(world, 'a', world.join);
  });
});
