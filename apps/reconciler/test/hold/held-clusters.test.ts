import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { holdStore, unlessHeld } from '../../src/hold/hold-store.js';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';
import { aWorld, passOn, running, untilSettled, type World } from '../support/model/pass-world.js';

let at: ClusterRows;
beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());
beforeEach(async () => {
  await at.pool.query("INSERT INTO installation_hold (reason, backup_taken_at) VALUES ('restored', clock_timestamp())");
});
afterEach(() => endHold());

const endHold = () => at.pool.query('UPDATE installation_hold SET ended_at = clock_timestamp() WHERE ended_at IS NULL');
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
  it('creates nothing in the garden, and reports that the operators stopped changes', async () => {
    const world = await aWorld(at);

    const { steps } = await passDue(world);

    expect(steps).toEqual([]);
    expect(world.garden.calls.filter((call) => call !== 'readShoot')).toEqual([]);
    expect(await findingOf(world)).toBe('to_be_created');
    const { conditions } = await at.row(world.cluster.id);
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Reconciled', reason: 'Held' }));
    expect((await at.operation(world.cluster.operationId)).waiting).toMatchObject({ reason: 'Held' });
  });

  it('creates it when the hold has ended', async () => {
    const world = await aWorld(at);
    await passDue(world);
    await endHold();

    const { steps } = await passDue(world);

    expect(steps).toContain('applyShoot');
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
