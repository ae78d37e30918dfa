import { randomUUID } from 'node:crypto';
import { connectionMessages, type TokenVerdict } from '@corral/contracts';
import { silentLog } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterTable } from '../../src/clusters/workers.js';
import { dueStore } from '../../src/garden/due-store.js';
import { leaseStore } from '../../src/loop/leases.js';
import { verificationStore } from '../../src/upkeep/verification-store.js';
import { verificationOf, verifyConnections } from '../../src/upkeep/verify-connections.js';
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
  ])('ends the requested operation: %s', async (verdict, outcome) => {
    const id = await aDueConnection();
    const operationId = await askedFor(id);

    await verifyWith(verdict);

    const operation = await at.operation(operationId);
    expect(operation).toMatchObject(outcome);
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
