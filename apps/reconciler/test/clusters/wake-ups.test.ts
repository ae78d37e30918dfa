import { randomUUID } from 'node:crypto';
import type { ClusterId, ConnectionId } from '@corral/contracts';
import type { GardenClient, Shoot } from '@corral/garden';
import { QueueUnavailable } from '@corral/queue';
import { silentLog } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { observedHash } from '../../src/clusters/observe.js';
import { dueStore } from '../../src/garden/due-store.js';
import { followShoots } from '../../src/garden/follow-shoots.js';
import { holdStore } from '../../src/hold/hold-store.js';
import { type RowJobs, sweepDue } from '../../src/loop/due-rows.js';
import { clusterTable } from '../../src/loop/leased-tables.js';
import { leaseStore } from '../../src/loop/leases.js';
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

  const sweep = (send: RowJobs<ClusterId>['send']) =>
    sweepDue({ leases: leaseStore(at.pool, clusterTable), jobs: { send } }, silentLog, running());

  it('sends one job for each due cluster', async () => {
    await manyDue(1_234, await at.addConnection(acme, 'sweep'));
    const sent: string[] = [];
    const send = async (id: string) => sent.push(id) > 0;

    expect(await sweep(send)).toBe(1_234);

    expect(new Set(sent).size).toBe(1_234);
    expect(sent).toHaveLength(1_234);
  });

  it('ends early when the queue is unavailable', async () => {
    let asked = 0;
    const send = async () => {
      asked += 1;
      if (asked > 3) throw new QueueUnavailable('away');
      return true;
    };
    await manyDue(200, await at.addConnection(acme, 'sweep-away'));

    expect(await sweep(send)).toBe(3);

    expect(asked).toBeLessThan(40);
  });
});

type FollowDeps = Parameters<typeof followShoots>[0];

/** Follows what a watch reports. Nothing is woken, unless `more` says so. */
const follow = (watchShoots: GardenClient['watchShoots'], more: Partial<FollowDeps> = {}): Promise<void> =>
  followShoots({
    garden: { watchShoots },
    dueTimes: dueStore(at.pool),
    holds: holdStore(at.prisma),
    relistEveryMs: HOUR_MS,
    wake: async () => undefined,
    onChanges: () => undefined,
    onWatching: () => undefined,
    onReturn: async () => undefined,
    ...more,
  })(running());

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
   * Follows a garden that is listed twice, the second time as `second` says.
   *
   * @returns the names of those that the second list woke
   */
  async function listedTwice({
    between = async () => {},
    second = (pages) => pages,
  }: {
    between?: () => Promise<unknown>;
    second?: (pages: [Shoot[], Shoot[]]) => readonly Shoot[][];
  }): Promise<string[]> {
    const woken: string[] = [];
    const watchShoots: GardenClient['watchShoots'] = async ({ onPage, onListed, onState }) => {
      const list = async (pages: readonly Shoot[][]) => {
        onState?.({ phase: 'listing' });
        for (const page of pages) await onPage(page);
        await onListed();
      };
      const shoots = NAMES.map((name) => shootOf(name));
      const pages: [Shoot[], Shoot[]] = [shoots.slice(0, 2), shoots.slice(2)];
      await list(pages);
      expect(woken).toEqual([]);
      await between();
      await list(second(pages));
    };
    await follow(watchShoots, { wake: async (ids) => void woken.push(...ids) });
    const { rows } = await at.pool.query('SELECT shoot_name FROM cluster WHERE id = ANY ($1) ORDER BY 1', [woken]);
    return rows.map(({ shoot_name }) => shoot_name);
  }

  it('finds a Shoot that has changed', async () => {
    const changed = shootOf('c4', 'two');

    expect(await listedTwice({ second: ([one, [third]]) => [one, [third as Shoot, changed]] })).toEqual(['c4']);
  });

  it.each([['was restored to an older state', `UPDATE cluster SET observed_hash = 'old' WHERE shoot_name = 'c2'`]])(
    'finds a row that %s while no Shoot has changed',
    async (_what, sql) => {
      expect(await listedTwice({ between: () => at.pool.query(sql) })).toEqual(['c2']);
    },
  );

  it.each<[string, (pages: [Shoot[], Shoot[]]) => readonly Shoot[][], string[]]>([
    ['a page is', ([one]) => [one], ['c3', 'c4']],
    ['one Shoot of a page is', ([one, [third]]) => [one, [third as Shoot]], ['c4']],
  ])('finds the missing if %s missing', async (_what, second, missing) => {
    expect(await listedTwice({ second })).toEqual(missing);
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

  const makeWaitingDue = () => leaseStore(at.pool, clusterTable).makeWaitingDue();

  it('makes only waiting clusters due', async () => {
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
    await waitsFor('GardenUnavailable', '-1 second');

    const woken = await makeWaitingDue();

    expect(woken.toSorted()).toEqual(waiting.toSorted());
    const { rows } = await at.pool.query(
      'SELECT count(*)::int FROM cluster WHERE id = ANY ($1) AND due_at <= clock_timestamp()',
      [waiting],
    );
    expect(rows).toEqual([{ count: waiting.length }]);
    expect(await makeWaitingDue()).toEqual([]);
  });

  it('makes leased clusters due too, since their pass may have started earlier', async () => {
    const id = await waitsFor('GardenUnavailable', '-1 second');
    const leases = leaseStore(at.pool, clusterTable);
    const answer = await leases.takeLease(id, 1_000);
    if (answer.kind !== 'taken') throw new Error(answer.kind);

    expect(await makeWaitingDue()).toEqual([id]);

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
