import { randomUUID } from 'node:crypto';
import { makeUsersDue } from '@corral/cluster-data';
import { asClusterId, type ClusterId, type ConnectionId } from '@corral/contracts';
import type { GardenClient, Shoot } from '@corral/garden';
import { QueueUnavailable } from '@corral/queue';
import { silentLog } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { observedHash } from '../../src/clusters/observe.js';
import { type RecordStore, recordStore } from '../../src/clusters/record.js';
import { desiredStore } from '../../src/clusters/store.js';
import { dueStore, followShoots } from '../../src/garden/follow-shoots.js';
import { holdStore } from '../../src/loop/hold.js';
import { clusterTable, type LeaseStore, leaseStore, type PassLease } from '../../src/loop/lease.js';
import { type RowJobs, sweepDue } from '../../src/loop/sweep.js';
import { aShoot, aSteadyDesired } from '../support/a-cluster.js';
import { aLearned, aRecord } from '../support/a-pass-record.js';
import { type ClusterRows, openClusterRows, type TestCluster, type TestTeam } from '../support/cluster-rows.js';
import { only } from '../support/only.js';
import { untilBlocked } from '../support/until.js';

let at: ClusterRows;
let acme: TestTeam;
beforeAll(async () => {
  at = await openClusterRows();
  acme = await at.addTeam('acme');
});
afterAll(() => at.close());

describe('rows', () => {
  const LEASE_MS = 60_000;
  const HOUR_MS = 3_600_000;

  let leases: LeaseStore<ClusterId>;
  let records: RecordStore;
  let connectionId: ConnectionId;
  beforeAll(async () => {
    leases = leaseStore(at.pool, clusterTable);
    records = recordStore(at);
    connectionId = await at.addConnection(acme);
  });

  const forgotten = { name: 'web', shootName: 'c1', generation: 1 };
  const declare = () => at.declare(acme, connectionId);

  async function take(cluster: { id: ClusterId }): Promise<PassLease<ClusterId>> {
    const answer = await leases.takeLease(cluster.id, LEASE_MS);
    if (answer.kind !== 'taken') throw new Error(`The lease was not given: ${answer.kind}`);
    return answer.lease;
  }

  describe('a lease', () => {
    it('is granted to one of many concurrent requests', async () => {
      const cluster = await declare();

      const answers = await Promise.all(Array.from({ length: 12 }, () => leases.takeLease(cluster.id, LEASE_MS)));

      expect(answers.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
      expect(answers.filter(({ kind }) => kind === 'busy')).toHaveLength(11);
    });

    it('starts the cluster, and makes it due again at its end', async () => {
      const cluster = await declare();

      await take(cluster);

      const row = await at.row(cluster.id);
      expect(row.started_at).not.toBeNull();
      expect(row.due_at).toEqual(row.lease_until);
      await at.pass(cluster.id, LEASE_MS);
      expect(await take(cluster)).toMatchObject({ fence: 2 });
    });

    it('is not granted for a draft, an unknown id, or a cluster that is not due', async () => {
      const draft = await at.declare(acme, connectionId, { pools: [] });
      await at.pool.query(`UPDATE cluster SET due_at = now() - interval '1 s' WHERE id = $1`, [draft.id]);
      const empty = await at.declare(acme, connectionId, { pools: [{ name: 'none', minimum: 0, maximum: 0 }] });
      const onServers = await declare();
      await at.pool.query(`UPDATE node_pool SET source = 'pooled' WHERE cluster_id = $1`, [onServers.id]);
      const steady = await declare();
      await records.recordPass(await take(steady), aRecord(steady, { says: { nextPassMs: null } }));
      const waiting = await declare();
      await records.recordPass(await take(waiting), aRecord(waiting));

      expect(await leases.takeLease(draft.id, LEASE_MS)).toEqual({ kind: 'idle' });
      expect(await leases.takeLease(empty.id, LEASE_MS)).toEqual({ kind: 'idle' });
      expect(await leases.takeLease(onServers.id, LEASE_MS)).toEqual({ kind: 'idle' });
      expect(await leases.takeLease(asClusterId(acme.id), LEASE_MS)).toEqual({ kind: 'idle' });
      expect(await leases.takeLease(steady.id, LEASE_MS)).toEqual({ kind: 'idle' });
      const answer = await leases.takeLease(waiting.id, LEASE_MS);
      expect(answer).toEqual({ kind: 'not due', inMs: expect.any(Number) });
      expect(answer.kind === 'not due' && answer.inMs).toBeGreaterThan(HOUR_MS - 120_000);
      expect((await at.row(draft.id)).started_at).toBeNull();
    });

    it('is renewed without losing that the row became due', async () => {
      const quiet = await declare();
      const busy = await declare();
      const [quietLease, busyLease] = [await take(quiet), await take(busy)];
      await at.change(busy);

      expect(await leases.renewLease(quietLease, 2 * LEASE_MS)).toBe(true);
      expect(await leases.renewLease(busyLease, 2 * LEASE_MS)).toBe(true);

      expect(await leases.release(quietLease, { nextPassMs: null })).toEqual({ kind: 'released', again: false });
      expect(await leases.release(busyLease, { nextPassMs: null })).toEqual({ kind: 'released', again: true });
      expect((await at.row(busy.id)).is_due).toBe(true);
    });
  });

  describe('a stale pass', () => {
    it('writes nothing at any point', async () => {
      const cluster = await declare();
      const stale = await take(cluster);
      await at.pass(cluster.id, LEASE_MS);
      const lease = await take(cluster);
      const before = await at.row(cluster.id);

      const answers = [
        await leases.renewLease(stale, LEASE_MS),
        await records.recordLearned(stale, aLearned),
        await records.recordLearned(stale, { shootUid: 'u' }),
        await records.recordPinnedVersion(stale, '1.33.1'),
        await records.recordNamespace(stale, 'garden-stale'),
        await records.recordGardenToken(stale, { connectionId, version: 1, before: 0 }),
        await records.forget(stale, forgotten),
      ];
      const ends = [await records.recordPass(stale, aRecord(cluster)), await leases.release(stale, { nextPassMs: 1 })];

      expect(answers).toEqual(answers.map(() => false));
      expect(ends).toEqual(ends.map(() => ({ kind: 'overtaken' })));
      expect(await desiredStore(at).readDesired(stale)).toBeNull();
      expect(await at.row(cluster.id)).toEqual({ ...before, due_in_ms: expect.any(Number) });
      expect(await at.operation(cluster.operationId)).toMatchObject({ state: 'queued' });
      expect(await records.recordPass(lease, aRecord(cluster))).toEqual({ kind: 'released', again: false });
    });

    it('forgets a namespace with the tokens in it, or neither', async () => {
      const team = await at.addTeam();
      const own = await at.addConnection(team);
      const cluster = await at.declare(team, own);
      const lease = await take(cluster);
      await records.recordNamespace(lease, 'garden-gone');
      await records.recordGardenToken(lease, { connectionId: own, version: 1, before: 0 });
      const other = await at.pool.connect();
      await other.query('BEGIN');
      await other.query('SELECT FROM team WHERE id = $1 FOR UPDATE', [team.id]);
      await other.query('UPDATE cluster SET lease_fence = lease_fence + 1 WHERE id = $1', [cluster.id]);

      const forgetting = records.forgetNamespace(lease);
      await untilBlocked(at);
      await other.query('COMMIT');
      other.release();
      await forgetting;

      const { rows } = await at.pool.query(
        `SELECT project_namespace IS NULL AS namespace, garden_token_version = 0 AS tokens
         FROM connection JOIN team ON team.id = team_id WHERE connection.id = $1`,
        [own],
      );
      expect(rows[0].tokens).toBe(rows[0].namespace);
    });

    it('cannot write with the id of another team in its lease', async () => {
      const stranger = await at.addTeam();
      const cluster = await declare();
      const lease = await take(cluster);

      const forged = { ...lease, teamId: stranger.id };

      expect(await records.recordPass(forged, aRecord(cluster))).toEqual({ kind: 'overtaken' });
      expect(await desiredStore(at).readDesired(forged)).toBeNull();
    });
  });

  describe('the record of a pass', () => {
    it('releases the lease, plans the next pass, and updates the operation', async () => {
      const cluster = await declare();

      const released = await records.recordPass(await take(cluster), aRecord(cluster));

      expect(released).toEqual({ kind: 'released', again: false });
      const row = await at.row(cluster.id);
      expect(row).toMatchObject({ phase: 'Provisioning', lease_until: null, revision: 2, observed_hash: 'h1' });
      expect(row.due_in_ms).toBeGreaterThan(HOUR_MS - 120_000);
      expect(await at.operation(cluster.operationId)).toMatchObject({
        state: 'running',
        progress: 10,
        finished_at: null,
      });
    });

    it('keeps a change that arrives during the pass due, and does not judge it', async () => {
      const cluster = await declare();
      const lease = await take(cluster);
      const { operationId } = await at.change(cluster);

      const released = await records.recordPass(
        lease,
        aRecord(cluster, {
          says: { phase: 'Ready', observedGeneration: 1, operation: { to: 'succeeded' }, nextPassMs: null },
        }),
      );

      expect(released).toEqual({ kind: 'released', again: true });
      expect(await at.row(cluster.id)).toMatchObject({ is_due: true, phase: 'Pending', observed_generation: 0 });
      expect(await at.operation(cluster.operationId)).toMatchObject({ state: 'superseded' });
      expect(await at.operation(operationId)).toMatchObject({ state: 'queued' });
    });

    it('contains why an operation failed, with the hint of the contract', async () => {
      const cluster = await declare();
      const operation = {
        to: 'failed',
        code: 'provider_quota_exceeded',
        message: 'The limit of servers is reached.',
      } as const;

      await records.recordPass(await take(cluster), aRecord(cluster, { says: { phase: 'Failed', operation } }));

      expect(await at.operation(cluster.operationId)).toMatchObject({
        state: 'failed',
        error: {
          code: 'provider_quota_exceeded',
          message: 'The limit of servers is reached.',
          retryable: true,
          hint: expect.stringContaining('limits'),
        },
        finished_at: expect.any(Date),
      });
    });

    it.each([
      ['the older one last', [2, 1]],
      ['the newer one last', [1, 2]],
    ])('records the older of two concurrently written tokens as the garden’s: %s', async (_, order) => {
      const connection = await at.addConnection(acme, `replaced-${order}`);
      const lease = await take(await at.declare(acme, connection));
      await at.pool.query('UPDATE connection SET token_version = 2 WHERE id = $1', [connection]);

      for (const version of order)
        await records.recordGardenToken(lease, { connectionId: connection, version, before: 0 });

      const desired = await desiredStore(at).readDesired(lease);
      expect(desired?.wanted.connection).toMatchObject({ tokenVersion: 2, gardenTokenVersion: 1 });
      await records.recordGardenToken(lease, { connectionId: connection, version: 2, before: 1 });
      await records.recordGardenToken(lease, { connectionId: connection, version: 2, before: 1 });
      const mended = await desiredStore(at).readDesired(lease);
      expect(mended?.wanted.connection).toMatchObject({ gardenTokenVersion: 2 });
    });

    it('deletes the row of a deleted cluster, and keeps its operation and audit entries', async () => {
      const cluster = await declare();
      const kept = await take(cluster);
      expect(await records.forget(kept, forgotten)).toBe(false);
      await leases.release(kept, { nextPassMs: 0 });
      const operationId = await at.requestDeletion(cluster);

      expect(await records.forget(await take(cluster), forgotten)).toBe(true);

      expect(await at.row(cluster.id)).toBeUndefined();
      expect(await at.operation(operationId)).toMatchObject({ state: 'succeeded', progress: 100 });
      expect(await at.operation(cluster.operationId)).toMatchObject({ state: 'superseded' });
      const { rows } = await at.pool.query('SELECT * FROM audit_entry WHERE target_id = $1', [cluster.id]);
      expect(rows).toEqual([expect.objectContaining({ action: 'cluster.deleted', user_id: null, team_id: acme.id })]);
    });
  });

  describe('due clusters', () => {
    it('are counted with those that a pass works on, and without those that wait for the garden or are steady', async () => {
      await at.pool.query('UPDATE cluster SET due_at = NULL, lease_until = NULL');
      const [, , steady, waiting, throttled, faulty] = await Promise.all(Array.from({ length: 6 }, declare));
      await take(await declare());
      await at.pool.query('UPDATE cluster SET due_at = NULL WHERE id = $1', [steady?.id]);
      const wait = (cluster: TestCluster | undefined, reason: string) =>
        at.pool.query('UPDATE cluster SET waiting = $2 WHERE id = $1', [cluster?.id, JSON.stringify({ reason })]);
      await wait(waiting, 'GardenUnavailable');
      await wait(throttled, 'UpstreamThrottled');
      await wait(faulty, 'PlatformFault');

      // Two are due, one has a pass, and one is due again after a fault that is not the garden's.
      expect(await leases.countDue()).toBe(4);
    });
  });

  describe('a change in the garden', () => {
    const seen = (namespace: string, shootName: string, hash: string) => ({ namespace, shootName, hash });

    async function steady(): Promise<TestCluster & { shootName: string; namespace: string }> {
      const team = await at.addTeam();
      const cluster = await at.declare(team, await at.addConnection(team));
      const lease = await take(cluster);
      await records.recordNamespace(lease, `garden-${team.slug}`);
      await records.recordLearned(lease, aLearned);
      await records.recordPass(lease, aRecord(cluster, { says: { nextPassMs: null } }));
      return { ...cluster, shootName: (await at.row(cluster.id)).shoot_name, namespace: `garden-${team.slug}` };
    }

    it('makes only changed clusters due', async () => {
      const [same, changed] = [await steady(), await steady()];

      const ids = await dueStore(at.pool).makeChangedDue([
        seen(same.namespace, same.shootName, 'h1'),
        seen(changed.namespace, changed.shootName, 'h2'),
        seen('garden-elsewhere', same.shootName, 'h3'),
        seen(same.namespace, 'unknown', 'h4'),
      ]);

      expect(ids).toEqual([changed.id]);
      expect(await at.row(same.id)).toMatchObject({ due_at: null });
      expect(await at.row(changed.id)).toMatchObject({ is_due: true });
    });

    it('repeats a pass only if another state was reported than the pass has seen', async () => {
      const same = await steady();
      for (const [reported, again] of [
        [['h1'], false],
        [['h2'], true],
        [['h2', 'h1'], false],
        [['h1', 'h2'], true],
        [[], false],
      ] as const) {
        await at.pool.query('UPDATE cluster SET due_at = now() WHERE id = $1', [same.id]);
        const lease = await take(same);
        for (const hash of reported) {
          const woken = await dueStore(at.pool).makeChangedDue([seen(same.namespace, same.shootName, hash)]);
          expect(woken).toEqual([]);
        }

        const released = await records.recordPass(lease, aRecord(same, { says: { nextPassMs: null } }));

        expect({ reported, released }).toEqual({ reported, released: { kind: 'released', again } });
        expect(await at.row(same.id)).toMatchObject(again ? { is_due: true } : { due_at: null });
      }
    });

    it('makes a leased cluster due even if its previous pass observed the same', async () => {
      const [back, gone] = [await steady(), await steady()];
      for (const { id } of [back, gone]) await at.pool.query('UPDATE cluster SET due_at = now() WHERE id = $1', [id]);
      await at.pool.query(`UPDATE cluster SET observed_hash = 'absent' WHERE id = $1`, [gone.id]);
      const taken = [await take(back), await take(gone)];

      const changed = await dueStore(at.pool).makeChangedDue([seen(back.namespace, back.shootName, 'h1')]);
      const missing = await dueStore(at.pool).makeMissingDue({ seenNames: [], limit: 1_000 }, null);

      expect(changed).toEqual([]);
      expect(missing.ids).toContain(gone.id);
      for (const each of taken) {
        expect(await leases.release(each, { nextPassMs: null })).toEqual({ kind: 'released', again: true });
      }
    });

    it('makes clusters due that are missing in a list, once', async () => {
      await at.pool.query(`UPDATE cluster SET shoot_uid = NULL`);
      const clusters = [await steady(), await steady(), await steady()];
      const [first, gone, reported] = clusters as [(typeof clusters)[0], (typeof clusters)[0], (typeof clusters)[0]];
      await at.pool.query(`UPDATE cluster SET observed_hash = 'absent' WHERE id = $1`, [reported?.id]);
      const query = { seenNames: [first?.shootName as string], limit: 1 };

      const ids: string[] = [];
      for (let after: ClusterId | null = null; ; ) {
        const page = await dueStore(at.pool).makeMissingDue(query, after);
        ids.push(...page.ids);
        after = page.next;
        if (after === null) break;
      }

      expect(ids).toEqual([gone?.id]);
      expect(await at.row(gone?.id as string)).toMatchObject({ is_due: true });
    });

    it('of a connection makes due the clusters that use it', async () => {
      const user = await steady();
      const other = await steady();
      const { rows } = await at.pool.query('SELECT team_id, connection_id FROM cluster WHERE id = $1', [user.id]);

      expect(await makeUsersDue(at.prisma, rows[0].team_id, rows[0].connection_id)).toEqual({
        clusters: [user.id],
        servers: [],
      });

      expect(await at.row(other.id)).toMatchObject({ due_at: null });
    });
  });
});

describe('what makes rows due', () => {
  const HOUR_MS = 3_600_000;
  const running = () => new AbortController().signal;

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
      sweepDue(
        { leases: leaseStore(at.pool, clusterTable), jobs: only<RowJobs<ClusterId>>({ send }) },
        silentLog,
        running(),
      );

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
      garden: only<GardenClient>({ watchShoots }),
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
        `UPDATE cluster SET waiting = jsonb_build_object('reason', $2::text, 'since', $4::text), due_at = now() + $3::interval, failures = 3
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
        'SELECT count(*)::int FROM cluster WHERE id = ANY ($1) AND due_at <= clock_timestamp() AND failures = 0',
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
});
