import type pg from 'pg';

/** SQLSTATE `read_only_sql_transaction`. */
const READ_ONLY = '25006';

/** Settings of one session of `pg`. */
export interface SessionSettings {
  /** Whether Postgres refuses every change. Otherwise the session needs a server that takes writes. */
  readonly isReadOnly?: boolean | undefined;
  /** Names and values of Postgres' settings. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
  /** Longest wait for the answer in ms. */
  readonly withinMs?: number | undefined;
}

/**
 * Prepares a new connection, in one round trip. The settings are a statement and not start-up parameters, most of which a pooler
 * refuses. Every session is in UTC: Prisma's adapter sends and reads times without their zone.
 *
 * @throws Error that counts as `isDatabaseAway` when the server takes no writes: a standby, to which the address leads during a failover
 */
export const prepareSession =
  ({ isReadOnly = false, settings, withinMs }: SessionSettings = {}) =>
  async (client: Pick<pg.ClientBase, 'query'>): Promise<void> => {
    const all = { TimeZone: 'UTC', ...(isReadOnly && { default_transaction_read_only: 'on' }), ...settings };
    const sets = Object.keys(all).map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, false)`);
    const { rows } = await client.query<{ is_read_only: boolean }>({
      text: `SELECT current_setting('transaction_read_only') = 'on' AS is_read_only, ${sets.join(', ')}`,
      values: Object.entries(all).flatMap(([name, value]) => [name, String(value)]),
      ...(withinMs !== undefined && { query_timeout: withinMs }),
    });
    if (!isReadOnly && rows[0]?.is_read_only !== false) throw takesNoWrites();
  };

/** The error of Postgres for a write, before there is one. */
export const takesNoWrites = (): Error =>
  Object.assign(new Error('Postgres takes no writes. The address of the database has to lead to the primary.'), {
    code: READ_ONLY,
    severity: 'FATAL',
  });
