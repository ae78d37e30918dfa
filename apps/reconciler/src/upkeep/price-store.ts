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
import type { NodePrices } from '@corral/hcloud';

/** A connection whose price list is to be read. */
export interface DuePrices extends ConnectionToken {
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
export type PriceStore = ReturnType<typeof priceStore>;

interface DueRow extends SealedTokenRow {
  readonly teamId: string;
  readonly connectionId: string;
  readonly tokenVersion: number;
  readonly failures: number;
}
