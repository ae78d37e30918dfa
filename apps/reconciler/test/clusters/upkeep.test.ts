import { randomUUID } from 'node:crypto';
import { type ConnectionId, connectionMessages, type TokenVerdict } from '@corral/contracts';
import type { GardenClient } from '@corral/garden';
import { QueueUnavailable } from '@corral/queue';
import { silentLog } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { observedHash } from '../../src/clusters/observe.js';
import { clusterTable } from '../../src/clusters/workers.js';
import { dueStore } from '../../src/garden/due-store.js';
import { followShoots } from '../../src/garden/follow-shoots.js';
import { type Leading, lead, leadershipStore } from '../../src/loop/leadership.js';
import { leaseStore } from '../../src/loop/leases.js';
import { sweepDue } from '../../src/loop/sweep-due.js';
import { verificationStore } from '../../src/upkeep/verification-store.js';
import { verificationOf, verifyConnections } from '../../src/upkeep/verify-connections.js';
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
        await watch.onPage(Array.from({ length: PAGE }, (_, index) => shootOf(namespace, `c${first + index}`)));
      }
      await watch.onListed();
    };

    await followShoots({
      garden: { watchShoots },
      dueTimes: dueStore(at.pool),
      relistEveryMs: HOUR_MS,
      wakeUps: { wakeAll: async (ids) => void woken.push(...ids) },
      onChanges: () => undefined,
      onWatching: () => undefined,
      onReturn: async () => undefined,
    })(running());

    const { rows } = await at.pool.query(`SELECT id, shoot_name FROM cluster WHERE due_at IS NOT NULL`);
    expect(rows).toEqual([expect.objectContaining({ shoot_name: 'c7777' })]);
    expect(woken).toEqual([rows[0].id]);
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

    await followShoots({
      garden: { watchShoots },
      dueTimes: dueStore(at.pool),
      wakeUps: { wakeAll: async () => undefined },
      relistEveryMs: HOUR_MS,
      onChanges: () => undefined,
      onWatching: () => undefined,
      onReturn: async () => {
        returns += 1;
      },
    })(running());

    expect(returns).toBe(2);
  });
});

describe('the verification of connections', () => {
  beforeEach(() => at.pool.query('UPDATE connection SET verify_at = NULL'));

  const connection = async (id: string) =>
    (
      await at.pool.query(
        `SELECT *, (extract(epoch FROM verify_at - clock_timestamp()) * 1000)::float8 AS again_ms FROM connection WHERE id = $1`,
        [id],
      )
    ).rows[0];
  const due = (id: string) => at.pool.query('UPDATE connection SET verify_at = now() WHERE id = $1', [id]);

  async function aDueConnection(phase = 'Unverified') {
    const id = await at.addConnection(acme, `v-${randomUUID().slice(0, 8)}`);
    await at.pool.query('UPDATE connection SET phase = $2::connection_phase WHERE id = $1', [id, phase]);
    await due(id);
    return id;
  }
  const verifyWith = (standing: TokenVerdict | (() => Promise<TokenVerdict>), woken: string[] = []) =>
    verifyConnections({
      store: verificationStore(at.pool),
      dueTimes: dueStore(at.pool),
      log: silentLog,
      onVerified: () => undefined,
      wakeUps: { wakeAll: async (ids) => void woken.push(...ids) },
      openToken: () => 'token',
      verifyToken: typeof standing === 'string' ? async () => standing : standing,
    })(running());

  it('makes a connection Ready, wakes its clusters, and repeats in about a day', async () => {
    const id = await aDueConnection();
    const cluster = await at.declare(acme, id);
    await leaseStore(at.pool, clusterTable).takeLease(cluster.id, 1);
    const woken: string[] = [];

    await verifyWith('valid', woken);

    const row = await connection(id);
    expect(row).toMatchObject({ phase: 'Ready', message: '', verify_failures: 0, verified_at: expect.any(Date) });
    expect(row.again_ms).toBeGreaterThan(20 * HOUR_MS);
    expect(woken).toEqual([cluster.id]);
  });

  it('wakes no cluster when nothing has changed', async () => {
    const id = await aDueConnection('Ready');
    const cluster = await at.declare(acme, id);
    await leaseStore(at.pool, clusterTable).takeLease(cluster.id, 1);
    const woken: string[] = [];

    await verifyWith('valid', woken);

    expect(woken).toEqual([]);
  });

  it('never treats a missing answer as a rejection', async () => {
    const id = await aDueConnection('Ready');

    for (let attempt = 0; attempt < 5; attempt += 1) {
      await due(id);
      await verifyWith('unknown');
    }

    const row = await connection(id);
    expect(row).toMatchObject({ phase: 'Ready', verify_failures: 5 });
    expect(row.again_ms).toBeGreaterThan(100_000);
  });

  it('records nothing about a token that was replaced during its verification', async () => {
    const id = await aDueConnection();

    await verifyWith(async () => {
      await at.pool.query('UPDATE connection SET token_version = 2, verify_at = now() WHERE id = $1', [id]);
      return 'rejected';
    });

    expect(await connection(id)).toMatchObject({ phase: 'Unverified' });
  });

  const askedFor = async (id: string) => {
    const { rows } = await at.pool.query(
      `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
       VALUES ($1, 'connection.verify', 'Connection', $2, 'main', 1, 'queued', 'sha256:1') RETURNING id`,
      [acme.id, id],
    );
    return rows[0].id;
  };

  it.each<[TokenVerdict, object]>([
    ['valid', { state: 'succeeded', progress: 100, error: {}, waiting: null }],
    ['read-only', { state: 'failed', error: { code: 'provider_permission_denied', retryable: true }, waiting: null }],
    ['rejected', { state: 'failed', error: { code: 'provider_token_rejected', retryable: true }, waiting: null }],
    ['unknown', { state: 'running', error: {}, waiting: { reason: 'ProviderUnavailable', since: expect.any(String) } }],
  ])('ends the requested operation: %s', async (verdict, told) => {
    const id = await aDueConnection();
    const operationId = await askedFor(id);

    await verifyWith(verdict);

    const operation = await at.operation(operationId);
    expect(operation).toMatchObject(told);
    await due(id);
    await verifyWith(verdict);
    expect(await at.operation(operationId)).toEqual({ ...operation, updated_at: expect.any(Date) });
  });

  it('that is requested during another one runs once more', async () => {
    const id = await aDueConnection();

    await verifyWith(async () => {
      await due(id);
      return 'unknown';
    });

    expect((await connection(id)).again_ms).toBeLessThanOrEqual(0);
  });

  it('finds a connection that became due in the same instant', async () => {
    const id = await aDueConnection();

    for (let time = 1; time <= 200; time += 1) {
      await at.pool.query('UPDATE connection SET verify_at = clock_timestamp() WHERE id = $1', [id]);
      expect([time, await verificationStore(at.pool).claimDue(1, HOUR_MS)]).toEqual([time, [expect.anything()]]);
    }
  });

  it('verifies each token once in concurrent runs', async () => {
    await Promise.all(Array.from({ length: 30 }, () => aDueConnection()));
    let asked = 0;
    const verifyToken = async (): Promise<TokenVerdict> => {
      asked += 1;
      return 'valid';
    };

    await Promise.all([verifyWith(verifyToken), verifyWith(verifyToken), verifyWith(verifyToken)]);

    expect(asked).toBe(30);
  });

  it.each<[verdict: TokenVerdict, row: object]>([
    ['valid', { phase: 'Ready', message: '', project: { reachable: true, readOnly: false } }],
    ['read-only', { phase: 'Rejected', project: { reachable: true, readOnly: true }, verified_at: null }],
    ['rejected', { phase: 'Rejected', project: { reachable: false, readOnly: null } }],
    ['unknown', { phase: 'Unverified', message: connectionMessages.Unverified, project: null }],
  ])('of a token with the verdict %s is recorded in the connection', async (verdict, row) => {
    const id = await aDueConnection();

    await verifyWith(verdict);

    expect(await connection(id)).toMatchObject(row);
  });

  it('reports a read-only token, and keeps the message without an answer', async () => {
    const id = await aDueConnection();
    await verifyWith('read-only');
    expect(await connection(id)).toMatchObject({ message: connectionMessages.ReadOnly });

    await due(id);
    await verifyWith('unknown');

    expect(await connection(id)).toMatchObject({ phase: 'Rejected', message: connectionMessages.ReadOnly });
  });

  it('wakes the clusters of a rejected connection when the reason changes', async () => {
    const id = await aDueConnection();
    await verifyWith('rejected');
    const cluster = await at.declare(acme, id);
    await leaseStore(at.pool, clusterTable).takeLease(cluster.id, 1);
    const woken: string[] = [];

    await due(id);
    await verifyWith('read-only', woken);
    await due(id);
    await verifyWith('read-only', woken);

    expect(woken).toEqual([cluster.id]);
  });

  it('changes only the message when the token cannot be decrypted, and says what to do', async () => {
    expect(verificationOf('unreadable', 0, 0)).toMatchObject({
      standing: null,
      remark: 'The stored token cannot be decrypted. Enter it in the connection again.',
      againMs: 10_000,
    });
  });

  it('backs off up to an hour plus jitter', () => {
    const waits = [0, 1, 2, 5, 30].map((failures) => verificationOf('unknown', failures, 1).againMs);

    expect(waits).toEqual([12_000, 24_000, 48_000, 384_000, 4_320_000]);
  });
});

describe('a task with one leader', () => {
  const LEASE_MS = 400;
  const open: Leading[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });

  /** A candidate for the task, and how often it has started. */
  function candidate(task: string, { store = leadershipStore(at.pool), leaseMs = LEASE_MS } = {}) {
    let begun = 0;
    let working = 0;
    const work = async (signal: AbortSignal) => {
      begun += 1;
      working += 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      working -= 1;
    };
    const leading = lead({ store, name: task, holder: randomUUID(), leaseMs, work, log: silentLog });
    open.push(leading);
    return { ...leading, begun: () => begun, working: () => working };
  }

  it('is performed by one of many', async () => {
    const candidates = Array.from({ length: 5 }, () => candidate('one-of-many'));

    await waitFor('a leader', () => candidates.some((each) => each.isLeading()));
    const { rows } = await at.pool.query(`SELECT * FROM leadership WHERE name = 'one-of-many'`);

    expect(candidates.filter((each) => each.working() === 1)).toHaveLength(1);
    expect(rows).toEqual([expect.objectContaining({ fence: 1 })]);
  });

  it('is taken over immediately when its leader shuts down', async () => {
    const first = candidate('orderly', { leaseMs: HOUR_MS });
    await waitFor('the first to lead', () => first.isLeading());
    const second = candidate('orderly');

    await first.close();

    expect(first.working()).toBe(0);
    await waitFor('the second to lead', () => second.isLeading());
  });

  it('is taken over when its leader is silent', async () => {
    await leadershipStore(at.pool).hold('silent', 'dead', LEASE_MS);
    const next = candidate('silent');

    await waitFor('the next to lead', () => next.isLeading());

    const { rows } = await at.pool.query(`SELECT * FROM leadership WHERE name = 'silent'`);
    expect(rows).toEqual([expect.objectContaining({ fence: 2 })]);
  });

  it('is given up by a leader that cannot renew its lease', async () => {
    let isAway = false;
    const store = leadershipStore(at.pool);
    const hold: typeof store.hold = (...args) => (isAway ? Promise.reject(new Error('away')) : store.hold(...args));
    const first = candidate('cut off', { store: { ...store, hold } });
    await waitFor('the first to lead', () => first.isLeading());

    isAway = true;

    await waitFor('it to stop', () => !first.isLeading() && first.working() === 0);
    isAway = false;
    await waitFor('it to lead again', () => first.begun() === 2);
  });
});
