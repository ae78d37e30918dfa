import { silentLog } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { followSchedules, scheduleStore } from '../../src/clusters/follow-schedules.js';
import type { TestCluster } from '../support/cluster-rows.js';
import { declaredClusters, wakeAll } from '../support/declared-clusters.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

const DAY = new Date('2026-06-01T10:00:00Z');
const NIGHT = new Date('2026-06-01T22:00:00Z');
/** Everything but the date. */
const timers = [
  ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] as const),
  ...(['nextTick', 'queueMicrotask', 'performance', 'hrtime'] as const),
];
const office = {
  timeZone: 'Europe/Berlin',
  awake: [{ weekdays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'], from: '07:00', until: '20:00' }],
  exceptions: [],
};

describe('a cluster with a schedule', () => {
  let at: Clusters;
  let reconciler: Reconciler;
  let cluster: TestCluster;
  beforeAll(async () => {
    at = await startClusters();
    reconciler = await at.start();
  });
  afterAll(() => at.close());
  beforeEach(async () => {
    cluster = await declareOne({ spec: { hibernationSchedule: office } });
    await at.pool.query('UPDATE cluster SET asleep_by_schedule = false WHERE id = $1', [cluster.id]);
    await wakeAll(reconciler, [cluster]);
    await untilEnded(at, cluster.operationId);
  });

  const { declareOne } = declaredClusters(() => at);
  const follower = (now: Date, log = silentLog) => {
    const wake = async (ids: readonly string[]) =>
      void (await Promise.all(ids.map((id) => reconciler.wake(id as never))));
    const follow = followSchedules({ store: scheduleStore(at as never), wake, now: async () => now, log });
    return () => follow(new AbortController().signal);
  };
  const followAt = (now: Date) => follower(now)();
  const operations = async () => (await at.operationsOf(cluster.id)).map(({ kind }) => kind);

  it('hibernates at the end of its hours and resumes at their start, with operations and entries of the service', async () => {
    await followAt(NIGHT);
    await untilRow(at, cluster.id, ({ phase }) => phase === 'Hibernated');
    await followAt(DAY);
    await untilRow(at, cluster.id, ({ phase }) => phase === 'Ready');

    expect(await operations()).toEqual(['cluster.create', 'cluster.hibernate', 'cluster.resume']);
    const { rows } = await at.pool.query(
      'SELECT action, user_id, detail, changes FROM audit_entry WHERE target_id = $1 ORDER BY id',
      [cluster.id],
    );
    const changed = (from: boolean) => [{ pointer: '/spec/hibernated', from, to: !from }];
    expect(rows).toMatchObject([
      {
        action: 'cluster.hibernate',
        user_id: null,
        detail: { schedule: true, generation: 2 },
        changes: changed(false),
      },
      { action: 'cluster.resume', user_id: null, detail: { schedule: true, generation: 3 }, changes: changed(true) },
    ]);
  });

  it('is not drifted while it sleeps, and changes once at each time, however many processes look', async () => {
    await Promise.all([followAt(NIGHT), followAt(NIGHT), followAt(NIGHT)]);
    const { conditions } = await untilRow(at, cluster.id, ({ phase }) => phase === 'Hibernated');
    await followAt(NIGHT);

    expect(conditions.filter(({ type }) => type === 'Drifted')).toEqual([]);
    expect(await operations()).toEqual(['cluster.create', 'cluster.hibernate']);
  });

  it('stays as people declare it until the next time', async () => {
    await followAt(NIGHT);
    await at.change(cluster, { kind: 'cluster.resume', spec: { hibernated: false } });
    await followAt(NIGHT);
    await followAt(DAY);
    expect(await operations()).toEqual(['cluster.create', 'cluster.hibernate', 'cluster.resume']);

    await followAt(NIGHT);
    expect(await operations()).toEqual(['cluster.create', 'cluster.hibernate', 'cluster.resume', 'cluster.hibernate']);
  });

  it('sleeps by the clock of the database, whatever that of the process says', async () => {
    const always = { weekdays: [...office.awake.flatMap(({ weekdays }) => weekdays), 'saturday', 'sunday'] };
    const awake = [{ ...always, from: '00:00', until: '24:00' }];
    const hibernationSchedule = { timeZone: 'UTC', awake, exceptions: [{ date: '2099-06-01' }] };
    await at.change(cluster, { kind: 'cluster.update', spec: { hibernationSchedule } });
    const before = await operations();
    const context = { attempt: 1, signal: new AbortController().signal, log: silentLog };
    jest.useFakeTimers({ now: new Date('2099-06-01T12:00:00Z'), doNotFake: timers });
    try {
      await reconciler.workers.handlers.upkeep['follow-schedules']({}, context);
    } finally {
      jest.useRealTimers();
    }

    expect(await operations()).toEqual(before);
  });

  it('is followed although one before it has a time zone that nobody knows, which is logged once', async () => {
    const other = await declareOne({ spec: { hibernationSchedule: office } });
    const [broken, whole] = cluster.id < other.id ? [cluster.id, other.id] : [other.id, cluster.id];
    await at.pool.query(
      `UPDATE cluster SET asleep_by_schedule = false, started_at = now(),
              spec = CASE WHEN id = $1 THEN jsonb_set(spec, '{hibernationSchedule,timeZone}', '"Nowhere"') ELSE spec END
       WHERE id IN ($1, $2)`,
      [broken, whole],
    );
    const errors: unknown[] = [];
    const follow = follower(NIGHT, { ...silentLog, error: (_message, of) => void errors.push(of) });

    await follow();
    await follow();

    expect(await at.row(whole)).toMatchObject({ spec: { hibernated: true } });
    expect(errors).toEqual([{ clusterId: broken, error: expect.any(RangeError) }]);
  });

  it.each([
    ['its team is suspended', `UPDATE team SET suspended_at = now() WHERE id = $1`],
    ['it is being deleted', `UPDATE cluster SET deletion_requested_at = now() WHERE team_id = $1`],
    ['it has not started', `UPDATE cluster SET started_at = NULL WHERE team_id = $1`],
    ['it waits for its team after a restore', `UPDATE cluster SET kept_generation = generation WHERE team_id = $1`],
  ])('is left alone while %s', async (_what, sql) => {
    const { team } = await at.addTeamWithConnection();
    const other = await at.declare(team, await at.addConnection(team), { spec: { hibernationSchedule: office } });
    await at.pool.query('UPDATE cluster SET asleep_by_schedule = false, started_at = now() WHERE id = $1', [other.id]);
    await at.pool.query(sql, [team.id]);

    await followAt(NIGHT);

    expect(await at.row(other.id)).toMatchObject({ generation: 1 });
  });
});
