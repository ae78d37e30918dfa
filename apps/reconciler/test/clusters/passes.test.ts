import type { Condition } from '@corral/contracts';
import { GardenError, type GardenErrorKind } from '@corral/garden';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { gardenReportOf } from '../../src/garden/gate.js';
import { holdStore, unlessHeld } from '../../src/loop/hold.js';
import { clusterTable, leaseStore } from '../../src/loop/lease.js';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';
import type { CallFault, GardenMethod } from '../support/model/model-client.js';
import {
  aWorld,
  expectConverged,
  HOUR_MS,
  LEASE_MS,
  passOn,
  running,
  untilDue,
  untilSettled,
  type World,
} from '../support/model/pass-world.js';

let at: ClusterRows;
beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());

describe('cluster pass', () => {
  describe('a pass', () => {
    it('creates the declared cluster immediately, and reports it as in progress', async () => {
      const world = await aWorld(at);

      const { end, steps } = await passOn(world)(world.cluster.id, running());

      expect(steps).toEqual(['ensureProject', 'applyCredentials', 'pinVersion', 'applyShoot']);
      expect(end).toMatchObject({ kind: 'finished' });
      expect(await at.row(world.cluster.id)).toMatchObject({
        applied_generation: 1,
        pinned_version: '1.33.7',
        shoot_uid: 'uid-1',
        lease_until: null,
      });
      expect(await at.operation(world.cluster.operationId)).toMatchObject({ state: 'running' });
    });

    it('continues until the cluster is Ready, and plans no further pass', async () => {
      const world = await aWorld(at);

      await untilSettled(world, world.cluster.operationId);

      await expectConverged(world, world.cluster.operationId);
      expect(await at.row(world.cluster.id)).toMatchObject({ due_at: null });
    });

    it('reports version and end of support, and writes nothing while they do not change', async () => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      const before = await at.row(world.cluster.id);

      await at.pool.query('UPDATE cluster SET due_at = now() WHERE id = $1', [world.cluster.id]);
      await passOn(world)(world.cluster.id, running());

      expect(before.observed).toMatchObject({ kubernetes: { version: '1.33.7', supportedUntil: null } });
      expect(await at.row(world.cluster.id)).toMatchObject({ observed: before.observed, revision: before.revision });
    });

    it('applies the newest of several changes, and ends the operations in between as superseded', async () => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      const { cluster } = world;

      const first = await at.change(cluster, { spec: { hibernated: true } });
      const second = await at.change(cluster, {
        spec: { hibernated: false },
        pools: [{ name: 'general', maximum: 7 }],
      });
      await untilSettled(world, second.operationId);

      expect(await at.operation(first.operationId)).toMatchObject({ state: 'superseded' });
      await expectConverged(world, second.operationId);
      expect(world.garden.model.shoot?.spec).toMatchObject({
        hibernation: { enabled: false },
        provider: { workers: [{ maximum: 7 }] },
      });
    });

    it('stops writing when another pass has taken the lease', async () => {
      const world = await aWorld(at);
      let isOvertaken = false;
      const between = async () => {
        if (isOvertaken || world.garden.calls.length < 2) return;
        isOvertaken = true;
        await at.pass(world.cluster.id, LEASE_MS);
        await leaseStore(at.pool, clusterTable).takeLease(world.cluster.id, LEASE_MS);
      };

      const { end, steps } = await passOn(world, between)(world.cluster.id, running());

      expect(end).toEqual({ kind: 'overtaken' });
      expect(steps).not.toContain('applyShoot');
      expect(await at.row(world.cluster.id)).toMatchObject({ lease_fence: 2, pinned_version: null });
    });

    it('releases its lease immediately on shutdown', async () => {
      const world = await aWorld(at);
      const stop = new AbortController();
      const between = async () => {
        if (world.garden.calls.length === 1) stop.abort();
      };

      const { end } = await passOn(world, between)(world.cluster.id, stop.signal);

      expect(end).toEqual({ kind: 'stopped' });
      expect(await at.row(world.cluster.id)).toMatchObject({ lease_until: null, is_due: true, failures: 0 });
      await untilSettled(world, world.cluster.operationId);
      await expectConverged(world, world.cluster.operationId);
    });

    it('waits for a Project that is not ready, and counts no failure', async () => {
      const world = await aWorld(at);
      const ensureProject = async () => ({ namespace: null, ready: false });
      const client = { ...world.garden.client, ensureProject };

      const { end } = await passOn({ ...world, garden: { ...world.garden, client } })(world.cluster.id, running());

      expect(end).toEqual({ kind: 'finished', inMs: 1_000 });
      expect(await at.row(world.cluster.id)).toMatchObject({ failures: 0, phase: 'Pending' });
    });

    it('fails the operation when the garden refuses the specification, and performs the next one', async () => {
      const world = await aWorld(at);
      world.garden.model.refusesApplies = true;
      await untilSettled(world, world.cluster.operationId);
      expect(await at.operation(world.cluster.operationId)).toMatchObject({
        state: 'failed',
        error: { code: 'refused_by_garden' },
      });
      expect(await at.row(world.cluster.id)).toMatchObject({ phase: 'Failed', due_at: null });

      world.garden.model.refusesApplies = false;
      const { operationId } = await at.change(world.cluster);
      await untilSettled(world, operationId);

      await expectConverged(world, operationId);
    });
  });

  it('a Project that was removed is created again with its credentials for a cluster without a Shoot', async () => {
    const world = await aWorld(at);
    world.garden.faults.set('applyShoot', [{ when: 'before', kind: 'not_found' }]);

    await untilSettled(world, world.cluster.operationId);

    await expectConverged(world, world.cluster.operationId);
    expect(world.garden.calls.filter((call) => call === 'ensureProject')).toHaveLength(2);
    expect(world.garden.calls.filter((call) => call === 'applyCredentials')).toHaveLength(2);
  });

  it('a token that the provider rejects in the garden is verified again unless that was done recently', async () => {
    const world = await aWorld(at);
    await untilSettled(world, world.cluster.operationId);
    world.garden.model.acceptedTokens.clear();
    const { operationId } = await at.change(world.cluster, { spec: { hibernated: true } });

    await untilSettled(world, operationId);

    const readVerifyAt = async () =>
      (await at.pool.query('SELECT verify_at FROM connection WHERE id = $1', [world.connectionId])).rows[0].verify_at;
    expect(await at.operation(operationId)).toMatchObject({
      state: 'failed',
      error: { code: 'provider_token_rejected' },
    });
    expect(await readVerifyAt()).toEqual(expect.any(Date));
    await at.pool.query(`UPDATE connection SET verify_at = NULL, verified_at = now() WHERE id = $1`, [
      world.connectionId,
    ]);
    await at.change(world.cluster, { spec: { plan: 'monthly' } });
    await passOn(world)(world.cluster.id, running());
    expect(await readVerifyAt()).toBeNull();
  });

  describe('an operation that failed for a rejected token', () => {
    const until = async (world: World, operationId: string, state: string): Promise<void> => {
      for (let round = 0; round < 60 && (await at.operation(operationId)).state !== state; round += 1) {
        world.garden.model.advance();
        await untilDue(world);
        await passOn(world)(world.cluster.id, running());
      }
      expect(await at.operation(operationId)).toMatchObject({ state });
    };
    const replaceToken = async ({ garden, connectionId, cluster }: World): Promise<void> => {
      garden.model.acceptedTokens.add(1);
      await at.pool.query('UPDATE connection SET token_version = token_version + 1 WHERE id = $1', [connectionId]);
      await at.pool.query('UPDATE cluster SET due_at = now() WHERE id = $1', [cluster.id]);
    };

    it('ends as succeeded when its change is carried out with the next token, unlike one of an earlier generation', async () => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      world.garden.model.acceptedTokens.clear();
      const earlier = await at.change(world.cluster, { pools: [{ name: 'general', maximum: 7 }] });
      await until(world, earlier.operationId, 'failed');
      const { operationId } = await at.change(world.cluster, { spec: { hibernated: true } });
      await until(world, operationId, 'failed');

      await replaceToken(world);
      await until(world, operationId, 'succeeded');

      expect(await at.operation(operationId)).toMatchObject({ progress: 100, error: {} });
      expect(await at.row(world.cluster.id)).toMatchObject({ phase: 'Hibernated' });
      expect(await at.operation(earlier.operationId)).toMatchObject({ state: 'failed' });
    });

    it('ends as succeeded when its deletion is carried out with the next token', async () => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      world.garden.model.acceptedTokens.clear();
      const operationId = await at.requestDeletion(world.cluster);
      await until(world, operationId, 'failed');

      await replaceToken(world);
      await until(world, operationId, 'succeeded');

      expect(await at.operation(operationId)).toMatchObject({ progress: 100, error: {} });
      expect(await at.row(world.cluster.id)).toBeUndefined();
    });
  });

  it.each([
    ['throttled', { kind: 'throttled', retryAfterMs: null }],
    ['credentials', { kind: 'locked' }],
    ['unreachable', { kind: 'away' }],
    ['uncertain', { kind: 'away' }],
    ['unusable', { kind: 'away' }],
    ['refused', { kind: 'fine' }],
    ['conflict', { kind: 'fine' }],
  ] as const)('the garden report of a pass after an error after %s', (kind, report) => {
    expect(gardenReportOf(new GardenError(kind, 'apply shoots'))).toEqual(report);
  });
});

describe('pass faults', () => {
  const lost = { when: 'after' } as const;
  const failing = (kind: GardenErrorKind) => ({ when: 'before', kind }) as const;
  const named = (fault: CallFault) => (fault.when === 'after' ? 'lost response' : fault.kind);

  describe('a pass with a fault', () => {
    // Any faults in any order are the property test of passes; here is one of each kind on the real rows.
    it.each(
      (
        [
          ['ensureProject', lost],
          ['applyCredentials', lost],
          ['readCloudProfile', failing('unreachable')],
          ['readShoot', failing('unusable')],
          ['applyShoot', lost],
          ['applyShoot', failing('conflict')],
          ['applyShoot', failing('rbac')],
          ['deleteShoot', lost],
        ] as [GardenMethod, CallFault][]
      ).map(([method, fault]) => [method, named(fault), fault] as const),
    )('%s, %s: is retried, creates one Shoot, and deletes it', async (method, _name, fault) => {
      const world = await aWorld(at);
      // A deletion whose answer is lost is not sent again.
      const faults = method === 'deleteShoot' ? [fault] : [fault, fault];
      world.garden.faults.set(method, faults);

      await untilSettled(world, world.cluster.operationId);
      await expectConverged(world, world.cluster.operationId);
      const operationId = await at.requestDeletion(world.cluster);
      await untilSettled(world, operationId);

      expect(await at.operation(operationId)).toMatchObject({ state: 'succeeded', progress: 100 });
      expect(await at.operation(world.cluster.operationId)).toMatchObject({ state: 'succeeded' });
      expect(await at.row(world.cluster.id)).toBeUndefined();
      expect(world.garden.faults.get(method)).toEqual([]);
      const { rows } = await at.pool.query('SELECT * FROM audit_entry WHERE target_id = $1', [world.cluster.id]);
      expect(rows).toEqual([expect.objectContaining({ action: 'cluster.deleted', user_id: null })]);
    });

    it('reports why it is retried, also in the operation, changes nothing else, and backs off', async () => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      const before = await at.row(world.cluster.id);
      const { operationId } = await at.change(world.cluster, { spec: { hibernated: true } });
      const waits: number[] = [];

      for (let attempt = 0; attempt < 8; attempt += 1) {
        world.garden.faults.set('readShoot', [{ when: 'before', kind: 'server_error' }]);
        await at.pass(world.cluster.id, HOUR_MS);
        await passOn(world)(world.cluster.id, running());
        waits.push((await at.row(world.cluster.id)).due_in_ms ?? 0);
      }

      const row = await at.row(world.cluster.id);
      expect(row).toMatchObject({ failures: 8, phase: before.phase });
      const others = (conditions: readonly Condition[]) => conditions.filter(({ type }) => type !== 'Reconciled');
      expect(others(row.conditions)).toEqual(others(before.conditions));
      expect(row.conditions).toContainEqual(
        expect.objectContaining({ type: 'Reconciled', status: 'Unknown', reason: 'GardenUnavailable' }),
      );
      expect(row.revision).toBe(before.revision + 1);
      expect(Math.max(...waits)).toBeGreaterThan(2_000);
      expect(await at.operation(operationId)).toMatchObject({
        state: 'queued',
        waiting: { reason: 'GardenUnavailable', since: expect.any(String) },
      });
      await at.pass(world.cluster.id, HOUR_MS);
      await passOn(world)(world.cluster.id, running());
      await untilSettled(world, operationId);
      expect(await at.row(world.cluster.id)).toMatchObject({ failures: 0, phase: 'Hibernated', waiting: null });
    });
  });

  describe('a process that dies', () => {
    /** Runs a pass that hangs forever at its n-th point. @returns false when it ended before */
    async function dieAt(world: World, point: number): Promise<boolean> {
      let reached = 0;
      const death = Promise.withResolvers<'died'>();
      const between = async () => {
        if (reached === point) {
          death.resolve('died');
          await new Promise(() => undefined);
        }
        reached += 1;
      };
      return (await Promise.race([passOn(world, between)(world.cluster.id, running()), death.promise])) === 'died';
    }

    const changed = { pools: [{ name: 'general', maximum: 9 }, { name: 'second' }] };
    const ready = (world: World) => untilSettled(world, world.cluster.operationId);
    const deleting = async (world: World) => {
      await ready(world);
      return at.requestDeletion(world.cluster);
    };
    const expectDeleted = async ({ cluster, garden }: World, operationId: string) => {
      expect(await at.operation(operationId)).toMatchObject({ state: 'succeeded' });
      expect(await at.row(cluster.id)).toBeUndefined();
      expect(garden.model.shoot).toBeNull();
    };

    it.each<[string, number, (world: World) => Promise<string>, (world: World, operationId: string) => Promise<void>]>([
      ['a creation leaves exactly one Shoot', 25, async ({ cluster }) => cluster.operationId, expectConverged],
      [
        'a change leaves the change applied',
        7,
        async (world) => {
          await ready(world);
          return (await at.change(world.cluster, changed)).operationId;
        },
        async (world, operationId) => {
          await expectConverged(world, operationId);
          const { spec } = world.garden.model.shoot ?? {};
          expect(spec).toMatchObject({ provider: { workers: [{ maximum: 9 }, { maximum: 3 }] } });
        },
      ],
      ['a deletion leaves nothing behind', 10, deleting, expectDeleted],
      [
        'the last pass of a deletion still ends the deletion',
        4,
        async (world) => {
          const operationId = await deleting(world);
          await passOn(world)(world.cluster.id, running());
          world.garden.model.vanish();
          await untilDue(world);
          return operationId;
        },
        expectDeleted,
      ],
    ])('anywhere in %s', async (_what, pointsMin, begin, check) => {
      let [point, died] = [0, true];
      for (; died; point += 1) {
        const world = await aWorld(at);
        const operationId = await begin(world);
        died = await dieAt(world, point);
        if ((await at.row(world.cluster.id)) !== undefined) await untilSettled(world, operationId);
        await check(world, operationId);
      }

      expect(point - 1).toBeGreaterThan(pointsMin);
    });
  });
});

describe('holds', () => {
  beforeEach(async () => {
    await at.pool.query(
      "INSERT INTO installation_hold (reason, backup_taken_at) VALUES ('restored', clock_timestamp())",
    );
  });
  afterEach(() => endHold());

  const endHold = () =>
    at.pool.query('UPDATE installation_hold SET ended_at = clock_timestamp() WHERE ended_at IS NULL');
  const passDue = async (world: World) => {
    await at.pool.query("UPDATE cluster SET due_at = clock_timestamp() - interval '1 s' WHERE id = $1", [
      world.cluster.id,
    ]);
    return passOn(world)(world.cluster.id, running());
  };
  const findingOf = async ({ cluster }: World): Promise<string | undefined> => {
    const { rows } = await at.pool.query<{ finding: string }>(
      "SELECT finding FROM hold_finding WHERE target_kind = 'Cluster' AND target_id = $1 ORDER BY found_at DESC LIMIT 1",
      [cluster.id],
    );
    return rows[0]?.finding;
  };
  /** A cluster that was Ready before the hold began. */
  const readyWorld = async (): Promise<World> => {
    const world = await aWorld(at);
    await endHold();
    await untilSettled(world, world.cluster.operationId);
    await at.pool.query("INSERT INTO installation_hold (reason) VALUES ('requested')");
    world.garden.calls.length = 0;
    return world;
  };

  describe('a pass during a hold', () => {
    it('creates nothing in the garden until its end, and reports that the operators stopped changes', async () => {
      const world = await aWorld(at);

      const { steps } = await passDue(world);

      expect(steps).toEqual([]);
      expect(world.garden.calls.filter((call) => call !== 'readShoot')).toEqual([]);
      expect(await findingOf(world)).toBe('to_be_created');
      const { conditions } = await at.row(world.cluster.id);
      expect(conditions).toContainEqual(expect.objectContaining({ type: 'Reconciled', reason: 'Held' }));
      expect((await at.operation(world.cluster.operationId)).waiting).toMatchObject({ reason: 'Held' });
      await endHold();
      expect((await passDue(world)).steps).toContain('applyShoot');
    });

    it('observes a steady cluster as usual', async () => {
      const world = await readyWorld();

      await passDue(world);

      expect(await findingOf(world)).toBe('as_recorded');
      expect(await at.row(world.cluster.id)).toMatchObject({ phase: 'Ready' });
    });

    it('does not roll back a Shoot that is ahead of the database, and neither does the next pass after the hold', async () => {
      const world = await readyWorld();
      // The restored row has another declaration than the Shoot.
      await at.pool.query("UPDATE cluster SET desired_hash = 'older' WHERE id = $1", [world.cluster.id]);

      await passDue(world);
      expect(await findingOf(world)).toBe('shoot_ahead');
      await at.pool.query('UPDATE cluster SET kept_generation = generation WHERE id = $1', [world.cluster.id]);
      await endHold();
      await passDue(world);

      expect(world.garden.calls).not.toContain('applyShoot');
      const { conditions } = await at.row(world.cluster.id);
      expect(conditions).toContainEqual(expect.objectContaining({ type: 'Reconciled', reason: 'KeptAfterRestore' }));
    });

    it('applies the next declaration of a kept cluster', async () => {
      const world = await readyWorld();
      await at.pool.query('UPDATE cluster SET kept_generation = generation WHERE id = $1', [world.cluster.id]);
      await endHold();

      await at.change(world.cluster, { spec: { hibernated: true } });
      await passDue(world);

      expect(world.garden.calls).toContain('applyShoot');
    });

    it('deletes no Shoot whose deletion was requested', async () => {
      const world = await readyWorld();
      await at.requestDeletion(world.cluster);

      await passDue(world);

      expect(world.garden.calls).not.toContain('deleteShoot');
      expect(await findingOf(world)).toBe('to_be_deleted');
    });
  });

  describe('during a hold', () => {
    it('jobs that change something outside do not run', async () => {
      let runs = 0;
      const job = unlessHeld(holdStore(at.prisma), async () => {
        runs += 1;
      });

      await job(running());
      expect(runs).toBe(0);

      await endHold();
      await job(running());
      expect(runs).toBe(1);
    });

    it('a listed Shoot without a cluster is noted, and one with a cluster is not', async () => {
      const world = await readyWorld();
      const [namespace, shootName] = await at.placeOf(world.cluster);

      await holdStore(at.prisma).noteListed([
        { namespace, shootName },
        { namespace: 'garden-t1', shootName: 'cunknown' },
      ]);

      const { rows } = await at.pool.query("SELECT target_id FROM hold_finding WHERE finding = 'unknown_shoot'");
      expect(rows).toEqual([{ target_id: 'garden-t1/cunknown' }]);
    });
  });
});
