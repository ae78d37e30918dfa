import {
  type ConnectionToken,
  connectionColumns,
  connectionTokenOf,
  keepConnection,
  lockClustersOf,
  requestVerification,
  type SealedTokenRow,
  selectOf,
} from '@corral/cluster-data';
import { asTeamId, type TeamId } from '@corral/contracts';
import { inTransaction, type Pool, rowClock } from '@corral/database';
import type { NodePrices, PricesReading } from '@corral/hcloud';
import { aroundMs, backoffMs, type Log, spreadMs } from '@corral/service';
import { type OpenToken, openOrReport } from '../loop/provider-token.js';
import { inBatches } from '../loop/work.js';

interface RefreshDeps {
  readonly store: PriceStore;
  /** @throws when the key that encrypted the token is missing */
  readonly openToken: OpenToken;
  readonly readPrices: (token: string) => Promise<PricesReading>;
  readonly onRead: (outcome: PricesReading['kind'] | 'unreadable') => void;
  readonly log: Log;
  readonly random?: () => number;
}

const BATCH = 20;
/** Longer than a reading. */
const CLAIM_MS = 60_000;
const DAY_MS = 86_400_000;
const retry = { firstMs: 60_000, maxMs: 6 * 3_600_000 };

/**
 * Reads the price lists of connections that became ready, got another token, or were last read a day ago. While the provider
 * does not answer, the last list stays.
 *
 * @returns the number of lists requested
 */
export const refreshPrices =
  (deps: RefreshDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, CLAIM_MS);
    return inBatches({ claim, work: (due) => refreshOne(deps, due), size: BATCH }, signal);
  };

async function refreshOne(deps: RefreshDeps, due: DuePrices): Promise<void> {
  const { store, onRead, log, random = Math.random } = deps;
  const { connectionId, failures } = due;
  const reading = await readingOf(deps, due);
  onRead(reading.kind);
  const againMs = nextReadingMs(reading, failures, random());
  if (reading.kind === 'read') {
    const { currency, prices } = reading;
    const hasChanged = await store.keep(due, { currency, prices, againMs });
    if (hasChanged) log.info('prices have changed', { connectionId, currency });
    return;
  }
  if (reading.kind === 'unavailable') log.warn('prices not read', { connectionId, reason: reading.reason });
  await store.putOff(due, againMs);
  if (reading.kind === 'refused') await store.requestVerification(due);
}

async function readingOf(deps: RefreshDeps, due: DuePrices) {
  const token = openOrReport(deps, due);
  return token === null ? ({ kind: 'unreadable' } as const) : deps.readPrices(token);
}

/**
 * Delay until the next reading in milliseconds: about a day after a success. After a failure it grows, and is at least the
 * provider's Retry-After.
 *
 * @param random in [0, 1], so that connections created together are not read together
 */
export function nextReadingMs(
  reading: PricesReading | { readonly kind: 'unreadable' },
  failures: number,
  random: number,
): number {
  if (reading.kind === 'read') return aroundMs(DAY_MS, random);
  const asked = reading.kind === 'throttled' ? Math.min(retry.maxMs, reading.retryAfterMs ?? 0) : 0;
  return spreadMs(Math.max(backoffMs(failures, retry), asked), random);
}

/** A connection whose price list is to be read. */
interface DuePrices extends ConnectionToken {
  readonly teamId: TeamId;
  readonly tokenVersion: number;
  /** Number of consecutive failures. */
  readonly failures: number;
}

/** Whether the connection still has the token of that version. */
const isOfToken = (version: string) =>
  `EXISTS (SELECT FROM connection WHERE id = connection_id AND token_version = ${version})`;

export const priceStore = (pool: Pool) => ({
  /**
   * Claims ready connections with due prices. They are due again after `retryMs` unless an outcome is recorded. A connection gets
   * its row when it becomes ready.
   */
  async claimDue(limit: number, retryMs: number): Promise<DuePrices[]> {
    await pool.query(
      `INSERT INTO price_list (connection_id)
       SELECT id FROM connection
       WHERE phase = 'Ready' AND NOT EXISTS (SELECT FROM price_list WHERE connection_id = connection.id)
       ON CONFLICT DO NOTHING`,
    );
    const { rows } = await pool.query<DueRow>(
      `WITH due AS (
         SELECT connection_id FROM price_list
         JOIN connection ON connection.id = price_list.connection_id AND connection.phase = 'Ready'
         WHERE due_at <= ${rowClock}
         ORDER BY due_at, connection_id LIMIT $1 FOR UPDATE OF price_list SKIP LOCKED
       ), claimed AS (
         UPDATE price_list SET due_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
         WHERE connection_id IN (SELECT connection_id FROM due)
         RETURNING connection_id, failures
       )
       SELECT connection.team_id AS "teamId", connection.id AS "connectionId", failures,
              token_version AS "tokenVersion", ${selectOf('connection', connectionColumns.token)}
       FROM claimed JOIN connection ON connection.id = claimed.connection_id`,
      [limit, retryMs],
    );
    return rows.map((row) => ({
      ...connectionTokenOf(row),
      teamId: asTeamId(row.teamId),
      tokenVersion: row.tokenVersion,
      failures: row.failures,
    }));
  },

  /**
   * Stores a price list. Equal prices change only the time of the next reading. Different prices appear in responses about the
   * connection's clusters, and change their entity tags. Nothing is stored for a replaced token, because the prices of the new one
   * are due.
   *
   * @returns whether the prices have changed
   */
  async keep(
    { teamId, connectionId, tokenVersion }: DuePrices,
    { currency, prices, againMs }: { currency: string; prices: NodePrices; againMs: number },
  ): Promise<boolean> {
    const { rows } = await inTransaction(pool, async (tx) => {
      // A token that is being replaced is waited for here, so that the statement that compares its version sees the new one.
      await lockClustersOf(tx, connectionId);
      await keepConnection(tx, teamId, connectionId);
      return tx.query<{ has_changed: boolean }>(
        `WITH kept AS (
           UPDATE price_list
           SET currency = $2, prices = $3::jsonb, failures = 0,
               priced_at = CASE WHEN has_changed THEN clock_timestamp() ELSE priced_at END,
               due_at = clock_timestamp() + make_interval(secs => $4::float8 / 1000)
           FROM (SELECT connection_id AS id,
                        currency IS DISTINCT FROM $2 OR prices IS DISTINCT FROM $3::jsonb AS has_changed
                 FROM price_list WHERE connection_id = $1 AND ${isOfToken('$5')} FOR UPDATE) before
           WHERE connection_id = id
           RETURNING has_changed
         ), shown AS (
           UPDATE cluster SET revision = revision + 1
           WHERE connection_id = $1 AND (SELECT has_changed FROM kept)
         )
         SELECT has_changed FROM kept`,
        [connectionId, currency, JSON.stringify(prices), againMs, tokenVersion],
      );
    });
    return rows[0]?.has_changed ?? false;
  },

  /** Keeps the existing list. */
  async putOff({ connectionId, tokenVersion }: DuePrices, againMs: number): Promise<void> {
    await pool.query(
      `UPDATE price_list SET failures = failures + 1,
                             due_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE connection_id = $1 AND ${isOfToken('$3')}`,
      [connectionId, againMs, tokenVersion],
    );
  },

  /** The provider refused the token when the prices were read. */
  requestVerification: (due: DuePrices): Promise<void> => requestVerification(pool, due, 'price list'),
});
type PriceStore = ReturnType<typeof priceStore>;

interface DueRow extends SealedTokenRow {
  readonly teamId: string;
  readonly connectionId: string;
  readonly tokenVersion: number;
  readonly failures: number;
}
