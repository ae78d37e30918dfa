import { randomUUID } from 'node:crypto';
import { makeUsersDue } from '@corral/cluster-data';
import { connectionMessages, type TokenVerdict } from '@corral/contracts';
import { rowClock } from '@corral/database';
import type { PricesReading } from '@corral/hcloud';
import { silentLog } from '@corral/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterTable, leaseStore, serverTable } from '../../src/loop/lease.js';
import { nextReadingMs, priceStore, refreshPrices } from '../../src/upkeep/prices.js';
import { verificationOf, verificationStore, verifyConnections } from '../../src/upkeep/verify-connections.js';
import { type ClusterRows, openClusterRows, type TestTeam } from '../support/cluster-rows.js';
import { untilBlocked } from '../support/until.js';

let at: ClusterRows;

let acme: TestTeam;

beforeAll(async () => {
  at = await openClusterRows();
  acme = await at.addTeam('acme');
});

afterAll(() => at.close());

describe('the verification of connections', () => {
  const HOUR_MS = 3_600_000;
  const running = () => new AbortController().signal;
  beforeEach(() => at.pool.query('UPDATE connection SET verify_at = NULL'));
  afterEach(() => at.pool.query('DELETE FROM adopted_server'));

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
  /** Its token was rejected: it is looked at again in a day. */
  async function aServerThatRests(connectionId: string) {
    const { rows } = await at.pool.query(
      `INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind, due_at)
       VALUES ($1, $2, 4711, 'cx22', 'hel1', 'x86', 'cloud', now() + interval '1 day') RETURNING id`,
      [acme.id, connectionId],
    );
    return rows[0].id;
  }
  const verifyWith = (verdict: TokenVerdict | (() => Promise<TokenVerdict>), woken: string[] = []) =>
    verifyConnections({
      store: verificationStore(at),
      prisma: at.prisma,
      log: silentLog,
      onVerified: () => undefined,
      wakeClusters: async (ids) => void woken.push(...ids),
      wakeServers: async (ids) => void woken.push(...ids),
      openToken: () => 'token',
      verifyToken: typeof verdict === 'string' ? async () => verdict : verdict,
    })(running());

  it('makes a connection Ready, wakes its clusters and servers, and repeats in about a day', async () => {
    const id = await aDueConnection();
    const cluster = await at.declare(acme, id);
    await leaseStore(at.pool, clusterTable).takeLease(cluster.id, 1);
    const server = await aServerThatRests(id);
    const woken: string[] = [];

    await verifyWith('valid', woken);

    const row = await connection(id);
    expect(row).toMatchObject({ phase: 'Ready', message: '', verify_failures: 0, verified_at: expect.any(Date) });
    expect(row.again_ms).toBeGreaterThan(20 * HOUR_MS);
    expect(woken.sort()).toEqual([cluster.id, server].sort());
  });

  it('lets no pass over a server begin with a token that is being replaced', async () => {
    const id = await aDueConnection();
    const server = await aServerThatRests(id);
    await at.pool.query('UPDATE adopted_server SET due_at = now() WHERE id = $1', [server]);

    const pass = await at.prisma.$transaction(async (tx) => {
      await makeUsersDue(tx, acme.id, id);
      const taken = leaseStore(at.pool, serverTable).takeLease(server, 60_000);
      expect(await Promise.race([taken, untilBlocked(at)])).toBe('blocked');
      return { taken };
    });

    expect(await pass.taken).toMatchObject({ kind: 'taken' });
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

  const aRequestedVerification = async (id: string) => {
    const { rows } = await at.pool.query(
      `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, desired_hash)
       VALUES ($1, 'connection.verify', 'Connection', $2, 'main', 1, 'queued', 'sha256:1') RETURNING id`,
      [acme.id, id],
    );
    return rows[0].id;
  };

  it.each<[verdict: TokenVerdict, row: object, operation: object]>([
    [
      'valid',
      { phase: 'Ready', message: '', project: { reachable: true, readOnly: false } },
      { state: 'succeeded', progress: 100, error: {}, waiting: null },
    ],
    [
      'read-only',
      { phase: 'Rejected', project: { reachable: true, readOnly: true }, verified_at: null },
      { state: 'failed', error: { code: 'provider_permission_denied', retryable: true }, waiting: null },
    ],
    [
      'rejected',
      { phase: 'Rejected', project: { reachable: false, readOnly: null } },
      { state: 'failed', error: { code: 'provider_token_rejected', retryable: true }, waiting: null },
    ],
    [
      'unknown',
      { phase: 'Unverified', message: connectionMessages.Unverified, project: null },
      { state: 'running', error: {}, waiting: { reason: 'ProviderUnavailable', since: expect.any(String) } },
    ],
  ])('with the verdict %s is recorded in the connection and in the requested operation', async (...row) => {
    const [verdict, recorded, outcome] = row;
    const id = await aDueConnection();
    const operationId = await aRequestedVerification(id);

    await verifyWith(verdict);

    expect(await connection(id)).toMatchObject(recorded);
    const operation = await at.operation(operationId);
    expect(operation).toMatchObject(outcome);
    // The same verdict again changes nothing in it.
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

  it('changes only the message when the token cannot be decrypted, and says what to do', () => {
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

describe('prices', () => {
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;
  beforeEach(() => at.pool.query('DELETE FROM cluster; DELETE FROM connection'));

  const listWith = (hourly: string): PricesReading => ({
    kind: 'read',
    currency: 'EUR',
    prices: { serverTypes: { cpx31: { hel1: { hourly, monthly: '13.1' } } }, primaryIpv4: {} },
  });
  const refreshWith = (reading: PricesReading | (() => Promise<PricesReading>), openToken = () => 'token') =>
    refreshPrices({
      store: priceStore(at),
      log: silentLog,
      onRead: () => undefined,
      openToken,
      readPrices: typeof reading === 'object' ? async () => reading : reading,
    })(new AbortController().signal);
  const aConnection = () => at.addConnection(acme, `p-${randomUUID().slice(0, 8)}`);
  const rowOf = async (id: string) =>
    (
      await at.pool.query(
        `SELECT *, (extract(epoch FROM due_at - clock_timestamp()) * 1000)::float8 AS again_ms
       FROM price_list WHERE connection_id = $1`,
        [id],
      )
    ).rows[0];
  const makeDue = (id: string) =>
    at.pool.query(`UPDATE price_list SET due_at = now() - interval '1 s' WHERE connection_id = $1`, [id]);

  describe('the prices of a connection', () => {
    it('are read once it is ready, and again in about a day', async () => {
      const id = await aConnection();

      expect(await refreshWith(listWith('0.021'))).toBe(1);
      expect(await refreshWith(listWith('0.099'))).toBe(0);

      const row = await rowOf(id);
      expect(row).toMatchObject({
        currency: 'EUR',
        failures: 0,
        priced_at: expect.any(Date),
        prices: { serverTypes: { cpx31: { hel1: { hourly: '0.021', monthly: '13.1' } } }, primaryIpv4: {} },
      });
      expect(row.again_ms).toBeGreaterThan(20 * HOUR_MS);
    });

    it.each(['Unverified', 'Rejected'])('are not read while it is %s', async (phase) => {
      const id = await aConnection();
      await at.pool.query('UPDATE connection SET phase = $2::connection_phase WHERE id = $1', [id, phase]);

      expect(await refreshWith(listWith('0.021'))).toBe(0);
    });

    it('change the entity tags of its clusters, without making them due', async () => {
      const id = await aConnection();
      const cluster = await at.declare(acme, id);
      await at.pool.query('UPDATE cluster SET due_at = NULL');
      await refreshWith(listWith('0.021'));
      const before = await at.row(cluster.id);
      await makeDue(id);

      await refreshWith(listWith('0.022'));

      const after = await at.row(cluster.id);
      expect(after).toEqual({ ...before, revision: before.revision + 1 });
      expect(after.due_at).toBeNull();
    });

    it.each<[string, PricesReading]>([
      ['the provider is unavailable', { kind: 'unavailable', reason: 'status 503' }],
      ['its budget is used up', { kind: 'throttled', retryAfterMs: 1_000 }],
      ['it refuses the token', { kind: 'refused' }],
    ])('are kept while %s', async (_what, reading) => {
      const id = await aConnection();
      await refreshWith(listWith('0.021'));
      const before = await rowOf(id);

      for (const failures of [1, 2]) {
        await makeDue(id);
        await refreshWith(reading);
        expect(await rowOf(id)).toMatchObject({ prices: before.prices, priced_at: before.priced_at, failures });
      }

      expect((await rowOf(id)).again_ms).toBeGreaterThan(MINUTE_MS);
      await makeDue(id);
      await refreshWith(listWith('0.021'));
      expect(await rowOf(id)).toMatchObject({ failures: 0 });
    });

    it('request a verification when the provider refuses the token', async () => {
      const id = await aConnection();
      await at.pool.query(`UPDATE connection SET verify_at = now() + interval '1 day' WHERE id = $1`, [id]);

      await refreshWith({ kind: 'refused' });

      const { rows } = await at.pool.query(`SELECT verify_at <= ${rowClock} AS due FROM connection WHERE id = $1`, [
        id,
      ]);
      expect(rows).toEqual([{ due: true }]);
    });

    it.each<[string, PricesReading]>([
      ['read', listWith('0.021')],
      ['refused', { kind: 'refused' }],
    ])('stay due when the token is replaced while they are %s', async (_what, reading) => {
      const id = await aConnection();
      await refreshWith(listWith('0.5'));
      await makeDue(id);

      await refreshWith(async () => {
        await at.pool.query('UPDATE connection SET token_version = token_version + 1 WHERE id = $1', [id]);
        await makeDue(id);
        return reading;
      });

      const row = await rowOf(id);
      expect(row).toMatchObject({ failures: 0, prices: { serverTypes: { cpx31: { hel1: { hourly: '0.5' } } } } });
      expect(row.again_ms).toBeLessThan(1);
    });
  });

  describe('the time until the next reading', () => {
    const away: PricesReading = { kind: 'unavailable', reason: 'status 503' };
    it('grows from a minute to six hours', () => {
      expect([0, 1, 2, 5, 40].map((failures) => nextReadingMs(away, failures, 0) / MINUTE_MS)).toEqual([
        1, 2, 4, 32, 360,
      ]);
    });

    it('is the provider’s Retry-After when that is longer, but at most six hours', () => {
      expect(nextReadingMs({ kind: 'throttled', retryAfterMs: 90_000 }, 0, 0)).toBe(90_000);
      expect(nextReadingMs({ kind: 'throttled', retryAfterMs: 1e12 }, 0, 0)).toBe(6 * HOUR_MS);
      expect(nextReadingMs({ kind: 'throttled', retryAfterMs: null }, 0, 0)).toBe(MINUTE_MS);
    });
  });
});
