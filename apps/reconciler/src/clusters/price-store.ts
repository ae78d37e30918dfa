import { inTransaction, type Pool, rowClock } from '@corral/database';
import type { NodePrices } from '@corral/hcloud';
import type { SealedToken } from '../loop/provider-token.js';

/** A connection whose price list is to be read. */
export interface DuePrices extends SealedToken {
  readonly tokenVersion: number;
  /** In a row. */
  readonly failures: number;
}

/** Whether the connection still has the token of that version. */
const isOfToken = (version: string) =>
  `EXISTS (SELECT FROM connection WHERE id = connection_id AND token_version = ${version})`;

export const priceStore = (pool: Pool) => ({
  /**
   * Takes ready connections whose prices are to be read; they come again after `retryMs` unless an outcome is recorded.
   * One that became ready has a row from then on.
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
       SELECT connection_id, failures, token_version, token_key_id, sealed_token
       FROM claimed JOIN connection ON connection.id = claimed.connection_id`,
      [limit, retryMs],
    );
    return rows.map((row) => ({
      ...{ connectionId: row.connection_id, tokenVersion: row.token_version, failures: row.failures },
      ...{ keyId: row.token_key_id, sealed: row.sealed_token },
    }));
  },

  /**
   * Keeps what was read. The same prices as before leave everything as it is but the time of the next reading; others show
   * in the answers about the clusters of the connection, and so change their tags. Of a token that was replaced meanwhile
   * nothing is kept: the prices of the new one are due.
   *
   * @returns whether the prices are others than before
   */
  async keep(
    { connectionId, tokenVersion }: DuePrices,
    { currency, prices, againMs }: { currency: string; prices: NodePrices; againMs: number },
  ): Promise<boolean> {
    const { rows } = await inTransaction(pool, async (tx) => {
      // Clusters, then the connection, then its prices, as everybody takes them. A token that is being replaced is waited
      // for here, so that the statement that looks at its version sees the new one.
      await tx.query('SELECT id FROM cluster WHERE connection_id = $1 ORDER BY id FOR NO KEY UPDATE', [connectionId]);
      await tx.query('SELECT id FROM connection WHERE id = $1 FOR KEY SHARE', [connectionId]);
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

  /** The list that is there stays. */
  async putOff({ connectionId, tokenVersion }: DuePrices, againMs: number): Promise<void> {
    await pool.query(
      `UPDATE price_list SET failures = failures + 1,
                             due_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE connection_id = $1 AND ${isOfToken('$3')}`,
      [connectionId, againMs, tokenVersion],
    );
  },

  /** A token that was refused is to be shown to the provider once more, by whoever judges tokens. */
  async doubtToken(connectionId: string): Promise<void> {
    await pool.query(`UPDATE connection SET verify_at = least(verify_at, clock_timestamp()) WHERE id = $1`, [
      connectionId,
    ]);
  },
});
export type PriceStore = ReturnType<typeof priceStore>;

interface DueRow {
  connection_id: string;
  token_version: number;
  failures: number;
  token_key_id: string;
  sealed_token: Buffer;
}
