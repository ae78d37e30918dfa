import { randomUUID } from 'node:crypto';
import { asClusterId, type ClusterId, type ConnectionId } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RecordStore, recordStore } from '../../src/clusters/record.js';
import { desiredStore } from '../../src/clusters/store.js';
import { dueStore } from '../../src/garden/follow-shoots.js';
import { clusterTable, type LeaseStore, leaseStore, type PassLease } from '../../src/loop/lease.js';
import { aLearned, aRecord } from '../support/a-pass-record.js';
import { type ClusterRows, openClusterRows, type TestCluster, type TestTeam } from '../support/cluster-rows.js';

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

      for (const id of [draft.id, empty.id, onServers.id, asClusterId(acme.id), steady.id]) {
        expect(await leases.takeLease(id, LEASE_MS)).toEqual({ kind: 'idle' });
      }
      const answer = await leases.takeLease(waiting.id, LEASE_MS);
      expect(answer).toEqual({ kind: 'not due', inMs: expect.any(Number) });
      expect(answer.kind === 'not due' && answer.inMs).toBeGreaterThan(HOUR_MS - 120_000);
      expect((await at.row(draft.id)).started_at).toBeNull();
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

  it('makes leased clusters due too, since their pass may have started earlier', async () => {
    const id = await waitsFor('GardenUnavailable', '-1 second');
    const leases = leaseStore(at.pool, clusterTable);
    const answer = await leases.takeLease(id, 1_000);
    if (answer.kind !== 'taken') throw new Error(answer.kind);

    expect(await makeWaitingDue()).toEqual([id]);

    expect(await leases.release(answer.lease, { nextPassMs: 3_600_000 })).toEqual({ kind: 'released', again: true });
  });

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
});
