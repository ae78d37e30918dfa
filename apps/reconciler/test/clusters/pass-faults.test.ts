import type { Condition } from '@corral/contracts';
import type { GardenErrorKind } from '@corral/garden';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';
import type { CallFault, GardenMethod } from '../support/model/model-client.js';
import {
  aWorld,
  expectConverged,
  HOUR_MS,
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

const faultsOf = (method: GardenMethod): CallFault[] => {
  const kinds: GardenErrorKind[] = ['unreachable', 'throttled', 'credentials', 'rbac', 'server_error', 'unusable'];
  const before = kinds.map((kind) => ({ when: 'before', kind }) as const);
  if (method === 'readShoot' || method === 'readCloudProfile') return before;
  const refusals = (['conflict', 'stale_reference', 'exists'] as const).map(
    (kind) => ({ when: 'before', kind }) as const,
  );
  return [...before, ...refusals, { when: 'before', kind: 'uncertain' }, { when: 'after' }];
};
const creating: GardenMethod[] = ['ensureProject', 'applyCredentials', 'readCloudProfile', 'readShoot', 'applyShoot'];
const named = (fault: CallFault) => (fault.when === 'after' ? 'lost response' : fault.kind);

describe('a pass with a fault', () => {
  const cases = creating.flatMap((method) => faultsOf(method).map((fault) => [method, named(fault), fault] as const));

  it.each(cases)('%s, %s: is retried, and creates one Shoot', async (method, _name, fault) => {
    const world = await aWorld(at);
    world.garden.faults.set(method, [fault, fault]);

    await untilSettled(world, world.cluster.operationId);

    await expectConverged(world, world.cluster.operationId);
    expect(world.garden.faults.get(method)).toEqual([]);
  });

  it.each(faultsOf('deleteShoot').map((fault) => [named(fault), fault] as const))(
    'deleteShoot, %s: is retried, and deletes the cluster',
    async (_name, fault) => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      world.garden.faults.set('deleteShoot', [fault, fault]);
      const operationId = await at.requestDeletion(world.cluster);

      await untilSettled(world, operationId);

      expect(await at.operation(operationId)).toMatchObject({ state: 'succeeded' });
      expect(await at.row(world.cluster.id)).toBeUndefined();
    },
  );

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
    expect(await passOn(world)(world.cluster.id, running())).toMatchObject({ isGardenBack: true });
    await untilSettled(world, operationId);
    expect(await at.row(world.cluster.id)).toMatchObject({ failures: 0, phase: 'Hibernated', waiting: null });
  });
});

describe('a process that dies', () => {
  /** Runs a pass that hangs forever at its n-th point. @returns false when it ended before */
  async function dieAt(world: World, point: number): Promise<boolean> {
    let reached = 0;
    let died: () => void = () => undefined;
    const death = new Promise<'died'>((resolve) => {
      died = () => resolve('died');
    });
    const between = async () => {
      if (reached === point) {
        died();
        await new Promise(() => undefined);
      }
      reached += 1;
    };
    const outcome = await Promise.race([passOn(world, between)(world.cluster.id, running()), death]);
    return outcome === 'died';
  }

  async function everyPoint(scenario: (point: number) => Promise<boolean>): Promise<number> {
    for (let point = 0; ; point += 1) {
      if (!(await scenario(point))) return point;
    }
  }

  it('anywhere in a creation leaves exactly one Shoot', async () => {
    const points = await everyPoint(async (point) => {
      const world = await aWorld(at);
      const died = await dieAt(world, point);
      await untilSettled(world, world.cluster.operationId);
      await expectConverged(world, world.cluster.operationId);
      return died;
    });

    expect(points).toBeGreaterThan(25);
  });

  it('anywhere in a change leaves the change applied', async () => {
    const points = await everyPoint(async (point) => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      const changed = { pools: [{ name: 'general', maximum: 9 }, { name: 'second' }] };
      const { operationId } = await at.change(world.cluster, changed);
      const died = await dieAt(world, point);
      await untilSettled(world, operationId);
      await expectConverged(world, operationId);
      expect(world.garden.model.shoot?.spec).toMatchObject({ provider: { workers: [{ maximum: 9 }, { maximum: 3 }] } });
      return died;
    });

    expect(points).toBeGreaterThan(7);
  });

  it('anywhere in a deletion leaves nothing behind', async () => {
    const points = await everyPoint(async (point) => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      const operationId = await at.requestDeletion(world.cluster);
      const died = await dieAt(world, point);
      await untilSettled(world, operationId);
      expect(await at.operation(operationId)).toMatchObject({ state: 'succeeded' });
      expect(await at.row(world.cluster.id)).toBeUndefined();
      expect(world.garden.model.shoot).toBeNull();
      return died;
    });

    expect(points).toBeGreaterThan(10);
  });

  it('in the last pass of a deletion still ends the deletion', async () => {
    const points = await everyPoint(async (point) => {
      const world = await aWorld(at);
      await untilSettled(world, world.cluster.operationId);
      const operationId = await at.requestDeletion(world.cluster);
      await passOn(world)(world.cluster.id, running());
      world.garden.model.vanish();
      await untilDue(world);
      const died = await dieAt(world, point);
      if ((await at.row(world.cluster.id)) !== undefined) await untilSettled(world, operationId);
      expect(await at.operation(operationId)).toMatchObject({ state: 'succeeded' });
      return died;
    });

    expect(points).toBeGreaterThan(4);
  });
});
