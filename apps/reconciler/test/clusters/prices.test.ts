import { randomUUID } from 'node:crypto';
import { rowClock } from '@corral/database';
import type { PricesReading } from '@corral/hcloud';
import { silentLog } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { priceStore } from '../../src/upkeep/price-store.js';
import { nextReadingMs, refreshPrices } from '../../src/upkeep/refresh-prices.js';
import { verificationStore } from '../../src/upkeep/verification-store.js';
import { verificationOf } from '../../src/upkeep/verify-connections.js';
import { type ClusterRows, openClusterRows, type TestTeam } from '../support/cluster-rows.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let at: ClusterRows;
let acme: TestTeam;
beforeAll(async () => {
  at = await openClusterRows();
  acme = await at.addTeam('acme');
});
afterAll(() => at.close());
beforeEach(() => at.pool.query('DELETE FROM cluster; DELETE FROM connection'));

const listWith = (hourly: string): PricesReading => ({
  kind: 'read',
  currency: 'EUR',
  prices: { serverTypes: { cpx31: { hel1: { hourly, monthly: '13.1' } } }, primaryIpv4: {} },
});
const refreshWith = (reading: PricesReading | (() => Promise<PricesReading>), openToken = () => 'token') =>
  refreshPrices({
    store: priceStore(at.pool),
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

  it('change nothing when they are the same', async () => {
    const id = await aConnection();
    const cluster = await at.declare(acme, id);
    await refreshWith(listWith('0.021'));
    const [before, list] = [await at.row(cluster.id), await rowOf(id)];
    await makeDue(id);

    await refreshWith(listWith('0.021'));

    expect((await at.row(cluster.id)).revision).toBe(before.revision);
    expect((await rowOf(id)).priced_at).toEqual(list.priced_at);
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

  it('are postponed without a call while its key is missing', async () => {
    const id = await aConnection();
    let asked = 0;

    await refreshWith(
      async () => {
        asked += 1;
        return listWith('1');
      },
      () => {
        throw new Error('no such key');
      },
    );

    expect([asked, (await rowOf(id)).failures]).toEqual([0, 1]);
  });

  it('request a verification when the provider refuses the token', async () => {
    const id = await aConnection();
    await at.pool.query(`UPDATE connection SET verify_at = now() + interval '1 day' WHERE id = $1`, [id]);

    await refreshWith({ kind: 'refused' });

    const { rows } = await at.pool.query(`SELECT verify_at <= ${rowClock} AS due FROM connection WHERE id = $1`, [id]);
    expect(rows).toEqual([{ due: true }]);
  });

  it('are due when it becomes ready again', async () => {
    const id = await aConnection();
    await refreshWith(listWith('0.021'));
    const due = { connectionId: id, tokenVersion: 1, keyId: 'k1', bytes: Buffer.alloc(0), failures: 0 };
    const record = async (verdict: 'valid' | 'rejected') =>
      verificationStore(at.pool).record(due, verificationOf(verdict, 0, 0));

    await record('valid');
    expect((await rowOf(id)).again_ms).toBeGreaterThan(HOUR_MS);
    await record('rejected');
    await record('valid');

    // The column has a resolution of one millisecond, rounded.
    expect((await rowOf(id)).again_ms).toBeLessThan(1);
  });

  it('are read once by concurrent runs', async () => {
    await Promise.all(Array.from({ length: 30 }, aConnection));
    let asked = 0;
    const read = async () => {
      asked += 1;
      return listWith('0.021');
    };

    await Promise.all([refreshWith(read), refreshWith(read), refreshWith(read)]);

    expect(asked).toBe(30);
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

  it('are deleted with it', async () => {
    const id = await aConnection();
    await refreshWith(async () => {
      await at.pool.query('DELETE FROM connection WHERE id = $1', [id]);
      return listWith('0.021');
    });

    expect(await rowOf(id)).toBeUndefined();
  });
});

describe('the time until the next reading', () => {
  const away: PricesReading = { kind: 'unavailable', reason: 'status 503' };
  it('grows from a minute to six hours', () => {
    expect([0, 1, 2, 5, 40].map((failures) => nextReadingMs(away, failures, 0) / MINUTE_MS)).toEqual([
      1, 2, 4, 32, 360,
    ]);
  });

  it('is the provider’s Retry-After when that is longer', () => {
    expect(nextReadingMs({ kind: 'throttled', retryAfterMs: 90_000 }, 0, 0)).toBe(90_000);
    expect(nextReadingMs({ kind: 'throttled', retryAfterMs: 1e12 }, 0, 0)).toBe(6 * HOUR_MS);
    expect(nextReadingMs({ kind: 'throttled', retryAfterMs: null }, 0, 0)).toBe(MINUTE_MS);
  });

  it('differs from connection to connection', () => {
    const [first, last] = [0, 1].map((random) => nextReadingMs(listWith('1'), 0, random)) as [number, number];
    expect([first / HOUR_MS, last / HOUR_MS].map(Math.round)).toEqual([22, 26]);
  });
});
