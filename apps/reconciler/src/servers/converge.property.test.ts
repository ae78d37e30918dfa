import { asClusterId, asNodePoolId, serverLabels } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nodePatch } from '../../test/support/a-server.js';
import { shootIn } from '../../test/support/fake-shoots.js';
import { rebuildTroubleArbitrary, serverWorld, troubleArbitrary, worldTimes } from '../../test/support/server-world.js';
import type { NodeCluster } from './model.js';

describe('adoption', () => {
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

  describe('an adoption under crashes and lost responses', () => {
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
});

describe('nodes', () => {
  /*
   * The same world with clusters that claim and release the server, hibernate, resume and are deleted at any moment, and with a
   * node agent that may register again under its name until the server is wiped.
   */

  type ClusterName = 'a' | 'b' | 'c';
  type Change =
    | { readonly kind: 'claim' | 'sleep' | 'wake'; readonly cluster: ClusterName }
    | { readonly kind: 'release' }
    /** Cluster `c` is never deleted. */
    | { readonly kind: 'delete' | 'end'; readonly cluster: 'a' | 'b' };

  const names = ['a', 'b', 'c'] as const;
  const changeArbitrary: fc.Arbitrary<Change> = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('claim' as const), cluster: fc.constantFrom(...names) }) },
    { weight: 3, arbitrary: fc.constant({ kind: 'release' } as const) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constantFrom('sleep' as const, 'wake'), cluster: fc.constantFrom(...names) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'end'), cluster: fc.constantFrom('a', 'b') }),
    },
  );

  const planArbitrary = fc.record({
    troubles: fc.array(troubleArbitrary, { maxLength: 60 }),
    rebuildTroubles: fc.array(rebuildTroubleArbitrary, { maxLength: 6 }),
    /** What others do before the n-th call after the previous change. */
    changes: fc.array(fc.record({ afterCalls: fc.integer({ min: 1, max: 20 }), change: changeArbitrary }), {
      maxLength: 12,
    }),
    gapsMs: fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 20 }),
    /** How often the node agent registers again after its Node was deleted. */
    returns: fc.integer({ min: 0, max: 2 }),
    keepsPods: fc.boolean(),
    startMs: fc.integer({ min: 0, max: 999 }),
    /** Short values end in a failure with work still in progress. */
    joinMsMax: fc.constantFrom(30_000, 90_000, worldTimes.joinMsMax),
    wish: fc.constantFrom<'a' | 'c' | null>('a', 'c', null),
  });
  type Plan = typeof planArbitrary extends fc.Arbitrary<infer P> ? P : never;

  const BOOT_MS = 30_000;
  const TOKEN_MS = 3_600_000;
  /** Maximum duration of a pass in milliseconds. */
  const PASS_MS_MAX = 300_000;

  function aWorldOfClusters(plan: Plan) {
    const changes = [...plan.changes];
    const perGeneration = new Map<number, number>();
    let callsLeft = changes[0]?.afterCalls ?? 0;
    const clusters = new Map<string, NodeCluster>(
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
    const times = { ...worldTimes, joinMsMax: plan.joinMsMax };
    const world = serverWorld({
      times,
      troubles: plan.troubles,
      rebuildTroubles: plan.rebuildTroubles,
      startMs: plan.startMs,
      failsRebuild: false,
      row: { phase: 'Ready', labelledAt: new Date(), observedAt: null },
      labels: { [serverLabels.claim]: 'token' },
      onCall() {
        runAgent();
        callsLeft -= 1;
        if (callsLeft > 0) return;
        const next = changes.shift();
        if (next !== undefined) apply(next.change);
        callsLeft = changes[0]?.afterCalls ?? Number.POSITIVE_INFINITY;
      },
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
    for (const name of names) world.shoots.add(name).keepsPods = plan.keepsPods;

    const setCluster = (name: ClusterName, next: Partial<NodeCluster>): void => {
      const known = clusters.get(name);
      if (known === undefined) return;
      const merged = { ...known, ...next };
      clusters.set(name, { ...merged, canTakeNodes: !merged.isHibernated && !merged.isDeleting });
      refresh();
    };
    const refresh = (): void => {
      const { claim, currentCluster } = world.row();
      world.change({
        claim: claim && { ...claim, cluster: clusters.get(claim.cluster.id) as NodeCluster },
        currentCluster: currentCluster && (clusters.get(currentCluster.id) ?? null),
      });
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
      if (row.phase !== 'Ready' || row.claim !== null || row.nodeName !== null) return;
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
      if (change.kind === 'claim') claim(change.cluster);
      else if (change.kind === 'release') release();
      else if (change.kind === 'delete') remove(change.cluster);
      else if (change.kind === 'end') end(change.cluster);
      else sleep(change.cluster, change.kind === 'sleep');
    };

    let registered: { rebuild: number; goneMs: number | null } | null = null;
    let returns = plan.returns;
    let cameMs = 0;
    const register = (shootName: string): void => {
      world.shoots.register(shootName, 'web');
      cameMs = world.nowMs();
    };
    const livingNodes = () =>
      world.shoots.nodesNamed('web').filter(({ shoot }) => clusters.get(shoot)?.isDeleting === false);
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

    return {
      ...world,
      apply,
      claim,
      release,
      runAgent,
      livingNodes,
      clusters,
      endTroubles() {
        changes.length = 0;
        times.joinMsMax = worldTimes.joinMsMax;
        world.endTroubles();
      },
    };
  }
  type WorldOfClusters = ReturnType<typeof aWorldOfClusters>;

  /** Ends all foreign changes and faults. The team wants one state. */
  async function convergeTo(world: WorldOfClusters, wish: ClusterName | null): Promise<void> {
    world.endTroubles();
    for (const name of names) world.apply({ kind: 'wake', cluster: name });
    for (let passes = 0; passes < 600; passes += 1) {
      const { phase, claim, nodeName } = world.row();
      const isWrong = claim !== null && (claim.cluster.id !== wish || phase === 'Failed');
      if (isWrong) world.release();
      else if (wish !== null) world.claim(wish);
      const isThere = wish === null ? phase === 'Ready' && nodeName === null : phase === 'Joined' && !isWrong;
      if (isThere && world.last()?.message === '') return;
      const dueMs = world.dueMs();
      expect(dueMs).not.toBeNull();
      world.advance(Math.max(0, (dueMs ?? 0) - world.nowMs()) + 10);
      world.runAgent();
      await world.pass();
    }
    throw new Error(`It does not finish: ${JSON.stringify(world.row())}`);
  }

  describe('a server that clusters claim and release, under crashes and lost responses', () => {
    it('converges with at most one rebuild per generation', async () => {
      await fc.assert(
        fc.asyncProperty(planArbitrary, async (plan) => {
          const world = aWorldOfClusters(plan);
          world.claim('a');
          for (let passes = 0; passes < 60; passes += 1) {
            world.advance(plan.gapsMs[passes % plan.gapsMs.length] ?? 0);
            world.runAgent();
            const dueMs = world.dueMs();
            if (dueMs !== null && dueMs <= world.nowMs()) await world.pass();
          }
          const wish = plan.wish !== null && world.clusters.get(plan.wish)?.isDeleting === false ? plan.wish : null;

          await convergeTo(world, wish);

          world.advance(worldTimes.rebuildGraceMs);
          expect(world.shoots.undrained()).toBe(0);
          const found = world.livingNodes();
          expect(found.map(({ shoot }) => shoot)).toEqual(wish === null ? [] : [wish]);
          for (const { node } of found)
            expect(node).toMatchObject({ isReady: true, isUnschedulable: false, ...nodePatch });
          const last = world.rebuilds.at(-1);
          expect(shootIn(last?.userData ?? null)).toBe(wish);
          expect(world.row().currentCluster?.id ?? null).toBe(wish);
        }),
        { numRuns: 150 },
      );
    });

    it('is not wiped for the next generation while a rebuild request of a failed one may still arrive', async () => {
      const lost = { kind: 'lost', acts: 'later', afterS: 45 } as const;
      const world = aWorldOfClusters({
        troubles: [],
        rebuildTroubles: [lost],
        changes: [],
        gapsMs: [0],
        returns: 0,
        keepsPods: false,
        startMs: 0,
        joinMsMax: 10_000,
        wish: null,
      });
      world.claim('c');
      while (world.row().phase !== 'Failed') {
        world.advance(5_000);
        await world.pass();
      }
      world.release();

      await convergeTo(world, null);

      expect(world.rebuilds.map(({ userData }) => shootIn(userData))).toEqual(['c', null]);
    });
  });
});

describe('joining by command', () => {
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
    /** Issues a command as the API does: only when the row allows the machine to join. */
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
        { numRuns: 150 },
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
});
