import { randomUUID } from 'node:crypto';
import { asClusterId, type ClusterId, type ConnectionId } from '@corral/contracts';
import type { GardenClient, Shoot } from '@corral/garden';
import { connectQueue, QueueUnavailable, startWorker } from '@corral/queue';
import { silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { observedHash } from '../../src/clusters/observe.js';
import { clusterTable } from '../../src/clusters/workers.js';
import { type DueStore, dueStore, type Sighting } from '../../src/garden/due-store.js';
import { followShoots } from '../../src/garden/follow-shoots.js';
import { reportedShoots } from '../../src/garden/reported-shoots.js';
import { holdStore } from '../../src/hold/hold-store.js';
import { leaseStore } from '../../src/loop/leases.js';
import { sweepDue } from '../../src/loop/sweep-due.js';
import { clusterWakeUps } from '../../src/loop/wake-ups.js';
import { aShoot, aSteadyDesired } from '../support/a-cluster.js';
import { type ClusterRows, openClusterRows, type TestTeam } from '../support/cluster-rows.js';

const HOUR_MS = 3_600_000;
const running = () => new AbortController().signal;

let at: ClusterRows;
let acme: TestTeam;
beforeAll(async () => {
  at = await openClusterRows();
  acme = await at.addTeam('acme');
});
afterAll(() => at.close());

describe('the sweep', () => {
  beforeEach(() => at.pool.query('DELETE FROM cluster'));

  const manyDue = (count: number, connectionId: ConnectionId) =>
    at.pool.query(
      `INSERT INTO cluster (team_id, name, connection_id, spec, desired_hash, started_at, due_at)
       SELECT $1, 'many-' || n, $2, '{}', 'h', now(), now() - make_interval(secs => 10 + n % 7)
       FROM generate_series(1, $3) n`,
      [acme.id, connectionId, count],
    );

  it('sends one wake-up for each due cluster', async () => {
    await manyDue(1_234, await at.addConnection(acme, 'sweep'));
    const sent: string[] = [];
    const send = async (id: string) => void sent.push(id);
    const sweep = sweepDue({ leases: leaseStore(at.pool, clusterTable), send, log: silentLog });

    expect(await sweep(running())).toBe(1_234);

    expect(new Set(sent).size).toBe(1_234);
    expect(sent).toHaveLength(1_234);
  });

  it('ends early when the queue is unavailable', async () => {
    let asked = 0;
    const send = async () => {
      asked += 1;
      if (asked > 3) throw new QueueUnavailable('away');
    };
    await manyDue(200, await at.addConnection(acme, 'sweep-away'));
    const sweep = sweepDue({ leases: leaseStore(at.pool, clusterTable), send, log: silentLog });

    expect(await sweep(running())).toBe(3);

    expect(asked).toBeLessThan(40);
  });
});

describe('a wake-up in a moment', () => {
  it('is not replaced by the plan of a pass that read the row before it was made due', async () => {
    const options = { databaseUrl: at.url, log: silentLog };
    const queue = connectQueue(options);
    const { wakeSoon, wakeLater } = clusterWakeUps(queue, leaseStore(at.pool, clusterTable));
    const woken: string[] = [];
    const handlers = { 'reconcile-cluster': async ({ clusterId }: { clusterId: string }) => woken.push(clusterId) };
    const id = asClusterId(randomUUID());

    await wakeSoon(id, 100);
    wakeLater(id, HOUR_MS);

    const worker = startWorker({ ...options, queues: { clusters: { handlers, concurrency: 1 } }, closeMs: 200 });
    await waitFor('the wake-up', () => woken.length === 1);
    await worker.close();
    await queue.close();
  });
});

describe('a wake-up', () => {
  it('is followed in this process while it has a place, and sent to all otherwise', async () => {
    const [one, other] = [asClusterId(randomUUID()), asClusterId(randomUUID())];
    const sent: string[] = [];
    const nudge = async (_job: string, _payload: unknown, options?: { jobId?: string }) =>
      void sent.push(options?.jobId ?? '');
    const { wakeAll } = clusterWakeUps({ nudge }, leaseStore(at.pool, clusterTable), { take: (id) => id === one });

    await wakeAll([one, other]);

    expect(sent).toEqual([other]);
  });
});

describe('the plan of a pass', () => {
  /** Notes whom it wakes. */
  const planner = (woken: string[]) =>
    clusterWakeUps(
      { nudge: async (_job, _payload, options) => void woken.push(options?.jobId ?? '') },
      leaseStore(at.pool, clusterTable),
    );

  it('replaces the one before it, and sends one wake-up at its time', async () => {
    const woken: string[] = [];
    const plans = planner(woken);
    const [one, other] = [asClusterId(randomUUID()), asClusterId(randomUUID())];

    plans.wakeLater(one, 1);
    plans.wakeLater(one, null);
    plans.wakeLater(other, HOUR_MS);
    plans.wakeLater(other, 1);

    await waitFor('the wake-up', () => woken.length > 0);
    expect(woken).toEqual([other]);
  });
});

describe('a plan that is a safety net', () => {
  it('wakes nobody whose row is not due any more', async () => {
    const connectionId = await at.addConnection(acme, 'net');
    const add = async (columns: string) => {
      const { rows } = await at.pool.query(
        `INSERT INTO cluster (team_id, name, connection_id, spec, desired_hash, started_at, due_at, lease_until)
         SELECT $1, 'net-' || gen_random_uuid(), $2, '{}', 'h', now(), ${columns} RETURNING id`,
        [acme.id, connectionId],
      );
      return asClusterId(rows[0].id);
    };
    const due = await add(`now(), NULL`);
    const gone = asClusterId(randomUUID());
    const others = [
      await add('NULL, NULL'),
      await add(`now() + interval '1 hour', NULL`),
      await add(`now(), now() + interval '1 hour'`),
    ];

    const found = await leaseStore(at.pool, clusterTable).findDueAmong([...others, gone, due], 100);

    expect(found).toEqual([due]);
  });

  it('asks first whether the row is due, and wakes without an answer of the database', async () => {
    const [one, other, soon] = ['one', 'other', 'soon'].map(asClusterId) as [ClusterId, ClusterId, ClusterId];
    jest.useFakeTimers({ now: 0 });
    const asked: ClusterId[][] = [];
    const woken: string[] = [];
    let isAway = false;
    const rows = {
      findDueAmong: async (ids: readonly ClusterId[]) => {
        asked.push([...ids]);
        if (isAway) throw new Error('away');
        return ids.filter((id) => id !== one);
      },
    };
    const nudge = async (_job: string, _payload: unknown, options?: { jobId?: string }) =>
      void woken.push(options?.jobId ?? '');
    const plans = clusterWakeUps({ nudge }, rows);
    try {
      plans.wakeLater(one, 15_000);
      plans.wakeLater(other, 15_001);
      plans.wakeLater(soon, 1_000);
      await jest.advanceTimersByTimeAsync(1_100);
      expect([asked, woken]).toEqual([[], [soon]]);
      await jest.advanceTimersByTimeAsync(17_000);
      expect([asked.flat(), woken]).toEqual([
        [one, other],
        [soon, other],
      ]);

      isAway = true;
      plans.wakeLater(one, 15_000);
      await jest.advanceTimersByTimeAsync(17_000);
      expect(woken).toEqual([soon, other, one]);
    } finally {
      jest.useRealTimers();
    }
  });
});

type FollowDeps = Parameters<typeof followShoots>[0];

/** Follows what a watch reports. Nothing is woken, unless `more` says so. */
const follow = (watchShoots: GardenClient['watchShoots'], more: Partial<FollowDeps> = {}): Promise<void> =>
  followShoots({
    garden: { watchShoots },
    dueTimes: dueStore(at.pool),
    reported: reportedShoots(),
    holds: holdStore(at.pool),
    relistEveryMs: HOUR_MS,
    wakeUps: { wakeAll: async () => undefined },
    onChanges: () => undefined,
    onWatching: () => undefined,
    onReturn: async () => undefined,
    ...more,
  })(running());

/** Hands over what is compared with the rows, of which none differs. */
const comparing = (note: (seen: readonly Sighting[]) => void): DueStore => ({
  ...dueStore(at.pool),
  async makeChangedDue(seen) {
    note(seen);
    return [];
  },
});

describe('events of the watch', () => {
  const states = ['one', 'one', 'two', 'two'] as const;
  const inState = (state: string): Shoot => {
    const shoot = aShoot(aSteadyDesired({ namespace: 'garden-acme', shootName: 'c1' }));
    return { ...shoot, status: { ...shoot.status, seedName: state } };
  };
  /** Follows what `reports` does, and returns the states that were compared with the rows. */
  async function followed(reports: GardenClient['watchShoots']): Promise<string[]> {
    const names = new Map(states.map((state) => [observedHash(inState(state)), state as string]));
    const compared: string[] = [];
    await follow(reports, {
      dueTimes: comparing((seen) => compared.push(seen.map(({ hash }) => names.get(hash)).join())),
    });
    return compared;
  }

  it('are compared once for each state, and always after others were left out', async () => {
    const compared = await followed(async ({ onEvents, summarize }) => {
      const report = (state: string, isOnly: boolean) =>
        onEvents([{ type: 'changed', shoot: summarize(inState(state)), isOnly }]);
      for (const state of states) await report(state, true);
      await report('one', false);
      await report('one', true);
      await report('one', false);
    });

    expect(compared).toEqual(['one', 'two', 'one', 'one']);
  });

  it('are compared again after a list, which may have shown another state', async () => {
    const compared = await followed(async ({ onEvents, onPage, onState, summarize }) => {
      const report = () => onEvents([{ type: 'changed', shoot: summarize(inState('one')), isOnly: true }]);
      await report();
      onState?.({ phase: 'listing' });
      await onPage([summarize(inState('two'))]);
      await report();
    });

    expect(compared).toEqual(['one', 'two', 'one']);
  });
});

describe('a list of all Shoots', () => {
  const CLUSTERS = 10_000;
  const PAGE = 500;

  const shootOf = (namespace: string, shootName: string) => aShoot(aSteadyDesired({ namespace, shootName }));

  it('wakes only the changed one of ten thousand clusters', async () => {
    const team = await at.addTeam();
    const namespace = `garden-${team.slug}`;
    await at.pool.query('DELETE FROM cluster');
    await at.pool.query('UPDATE team SET project_namespace = $2 WHERE id = $1', [team.id, namespace]);
    const hash = observedHash(shootOf(namespace, 'c1'));
    await at.pool.query(
      `INSERT INTO cluster (team_id, name, connection_id, shoot_name, spec, desired_hash, started_at, shoot_uid, observed_hash)
       SELECT $1, 'n' || n, $2, 'c' || n, '{}', 'h', now(), 'uid', CASE WHEN n = 7777 THEN 'other' ELSE $3 END
       FROM generate_series(0, $4 - 1) n`,
      [team.id, await at.addConnection(team), hash, CLUSTERS],
    );
    const woken: string[] = [];
    const watchShoots: GardenClient['watchShoots'] = async (watch) => {
      watch.onState?.({ phase: 'listing' });
      for (let first = 0; first < CLUSTERS; first += PAGE) {
        const shoots = Array.from({ length: PAGE }, (_, index) => shootOf(namespace, `c${first + index}`));
        await watch.onPage(shoots.map(watch.summarize));
      }
      await watch.onListed();
    };

    await follow(watchShoots, { wakeUps: { wakeAll: async (ids) => void woken.push(...ids) } });

    const { rows } = await at.pool.query(`SELECT id, shoot_name FROM cluster WHERE due_at IS NOT NULL`);
    expect(rows).toEqual([expect.objectContaining({ shoot_name: 'c7777' })]);
    expect(woken).toEqual([rows[0].id]);
  });
});

describe('a repeated list of all Shoots', () => {
  const NAMES = ['c1', 'c2', 'c3', 'c4'] as const;
  let namespace: string;
  beforeEach(async () => {
    const team = await at.addTeam();
    namespace = `garden-${team.slug}`;
    await at.pool.query('DELETE FROM cluster');
    await at.pool.query('UPDATE team SET project_namespace = $2 WHERE id = $1', [team.id, namespace]);
    const connectionId = await at.addConnection(team);
    for (const name of NAMES) {
      await at.pool.query(
        `INSERT INTO cluster (team_id, name, connection_id, shoot_name, spec, desired_hash, started_at, shoot_uid, observed_hash)
         VALUES ($1, $2, $3, $2, '{}', 'h', now(), 'uid', $4)`,
        [team.id, name, connectionId, observedHash(shootOf(name))],
      );
    }
  });

  const shootOf = (shootName: string, seed = 'one'): Shoot => {
    const shoot = aShoot(aSteadyDesired({ namespace, shootName }));
    return { ...shoot, status: { ...shoot.status, seedName: seed } };
  };

  /**
   * Follows a garden that is listed twice. Its second page has changed in the second list, unless `second` says otherwise.
   *
   * @returns what the second list compared and woke
   */
  async function listedTwice({
    between = async () => {},
    second = ([one, other]) => [one, [...other]],
  }: {
    between?: () => Promise<unknown>;
    second?: (pages: [Sighting[], Sighting[]]) => readonly Sighting[][];
  }): Promise<{ compared: string[]; woken: string[] }> {
    const [compared, woken]: [string[], string[]] = [[], []];
    const store = dueStore(at.pool);
    const dueTimes: DueStore = {
      ...store,
      makeChangedDue(seen) {
        compared.push(...seen.map(({ shootName }) => shootName));
        return store.makeChangedDue(seen);
      },
    };
    const watchShoots: GardenClient['watchShoots'] = async ({ summarize, onPage, onListed, onState }) => {
      const list = async (pages: readonly Sighting[][]) => {
        onState?.({ phase: 'listing' });
        // They are what `summarize` returns.
        for (const page of pages) await onPage(page as unknown as Parameters<typeof onPage>[0]);
        await onListed();
      };
      const summaries = NAMES.map((name) => summarize(shootOf(name)) as unknown as Sighting);
      const pages: [Sighting[], Sighting[]] = [summaries.slice(0, 2), summaries.slice(2)];
      await list(pages);
      expect([compared.splice(0), woken]).toEqual([[...NAMES], []]);
      await between();
      await list(second(pages));
    };
    await follow(watchShoots, { dueTimes, wakeUps: { wakeAll: async (ids) => void woken.push(...ids) } });
    const { rows } = await at.pool.query('SELECT shoot_name FROM cluster WHERE id = ANY ($1) ORDER BY 1', [woken]);
    return { compared, woken: rows.map(({ shoot_name }) => shoot_name) };
  }

  it('compares only pages that have changed', async () => {
    expect(await listedTwice({})).toEqual({ compared: ['c3', 'c4'], woken: [] });
    expect(await listedTwice({ second: (pages) => pages })).toEqual({ compared: [], woken: [] });
  });

  it('finds a change on one page, and compares the others too', async () => {
    const changed: Sighting = { namespace, shootName: 'c4', hash: 'other' };

    expect(await listedTwice({ second: ([one, [third]]) => [one, [third as Sighting, changed]] })).toEqual({
      compared: ['c3', 'c4', 'c1', 'c2'],
      woken: ['c4'],
    });
  });

  it.each([
    ['was restored to an older state', `UPDATE cluster SET observed_hash = 'old' WHERE shoot_name = 'c2'`],
    ['has forgotten what it observed', `UPDATE cluster SET observed_hash = NULL WHERE shoot_name = 'c2'`],
    ['observed that its Shoot is gone', `UPDATE cluster SET observed_hash = 'absent' WHERE shoot_name = 'c2'`],
  ])('finds a row that %s while no Shoot has changed', async (_what, sql) => {
    const { woken } = await listedTwice({ between: () => at.pool.query(sql), second: (pages) => pages });

    expect(woken).toEqual(['c2']);
  });

  it('tells the running pass of a cluster what was listed', async () => {
    const sql = `UPDATE cluster SET lease_until = now() + interval '1 hour' WHERE shoot_name = 'c2'`;

    await listedTwice({ between: () => at.pool.query(sql), second: (pages) => pages });

    const { rows } = await at.pool.query(`SELECT sighted_hash FROM cluster WHERE shoot_name = 'c2'`);
    expect(rows).toEqual([{ sighted_hash: observedHash(shootOf('c2')) }]);
  });

  it.each<[string, (pages: [Sighting[], Sighting[]]) => readonly Sighting[][], string[]]>([
    ['a page is', ([one]) => [one], ['c3', 'c4']],
    ['one Shoot of a page is', ([one, [third]]) => [one, [third as Sighting]], ['c4']],
    ['a page is shown twice instead of another, and it is', ([one]) => [one, one], ['c3', 'c4']],
  ])('finds the missing if %s missing', async (_what, second, missing) => {
    expect((await listedTwice({ second })).woken).toEqual(missing);
  });
});

describe('the return of the garden', () => {
  const waitsFor = async (reason: string, dueIn: string, since = '2026-01-01T00:00:00.000Z') => {
    const { id } = await at.declare(acme, await at.addConnection(acme, `w-${randomUUID().slice(0, 8)}`));
    await at.pool.query(
      `UPDATE cluster SET waiting = jsonb_build_object('reason', $2::text, 'since', $4::text), due_at = now() + $3::interval
       WHERE id = $1`,
      [id, reason, dueIn, since],
    );
    return id;
  };

  it('makes only waiting clusters due, spread over the given time', async () => {
    const waiting = await Promise.all(Array.from({ length: 20 }, () => waitsFor('GardenUnavailable', '1 minute')));
    const newestSince = '2026-01-01T00:00:01.000Z';
    waiting.push(await waitsFor('GardenUnavailable', '1 minute', newestSince));
    expect(await dueStore(at.pool).findWaiting(['GardenUnavailable'])).toEqual({
      namespace: null,
      name: expect.stringMatching(/^c/),
      newestSince,
    });
    expect(await dueStore(at.pool).findWaiting(['GardenAccessDenied'])).toBeNull();
    await waitsFor('UpstreamThrottled', '1 minute');
    await waitsFor('GardenUnavailable', '1 second');

    const woken = await dueStore(at.pool).makeWaitingDue(['GardenUnavailable'], 2_000);

    expect(woken.map(({ id }) => id).toSorted()).toEqual(waiting.toSorted());
    expect(new Set(woken.map(({ inMs }) => inMs)).size).toBe(waiting.length);
    expect(woken.every(({ inMs }) => inMs >= 0 && inMs < 2_000)).toBe(true);
    const { rows } = await at.pool.query(
      `SELECT count(*)::int FROM cluster WHERE id = ANY ($1) AND due_at <= clock_timestamp() + interval '2 s'`,
      [waiting],
    );
    expect(rows).toEqual([{ count: waiting.length }]);
    expect(await dueStore(at.pool).makeWaitingDue(['GardenUnavailable'], 2_000)).toEqual([]);
  });

  it('makes leased clusters due too, since their pass may have started earlier', async () => {
    const id = await waitsFor('GardenUnavailable', '-1 second');
    const leases = leaseStore(at.pool, clusterTable);
    const answer = await leases.takeLease(id, 1_000);
    if (answer.kind !== 'taken') throw new Error(answer.kind);

    const woken = await dueStore(at.pool).makeWaitingDue(['GardenUnavailable'], 2_000);

    expect(woken.map((each) => each.id)).toEqual([id]);
    expect(await leases.release(answer.lease, { nextPassMs: HOUR_MS })).toEqual({ kind: 'released', again: true });
  });

  it('is reported by a watch that opens after an interruption only', async () => {
    let returns = 0;
    const states = ['listing', 'watching', 'listing', 'watching', 'waiting', 'watching'] as const;
    const watchShoots: GardenClient['watchShoots'] = async ({ onState }) => {
      for (const phase of states) onState?.(phase === 'waiting' ? { phase, error: null, delayMs: 1 } : { phase });
    };

    await follow(watchShoots, {
      onReturn: async () => {
        returns += 1;
      },
    });

    expect(returns).toBe(2);
  });
});
