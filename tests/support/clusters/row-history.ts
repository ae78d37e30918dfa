import type { Pool } from '@corral/database';

/** One change of a row, recorded by Postgres itself in the transaction that made it. */
export interface RowChange {
  /** Ascends in the order of the changes of one row. */
  readonly seq: number;
  readonly transaction: string;
  readonly table: string;
  readonly kind: 'INSERT' | 'UPDATE' | 'DELETE';
  /** The row after the change, or before its deletion. The keys are columns, with values as in JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: rows of several tables
  readonly row: any;
}

const HISTORY = 'test_history.row_change';

/** The tables whose changes are recorded. */
export const judgedTables = ['cluster', 'adopted_server', 'operation', 'audit_entry'] as const;

/** Records every change of their rows from now on, by any process. Sampling could miss a state. */
export async function recordRowChanges(pool: Pool): Promise<void> {
  await pool.query(`
    CREATE SCHEMA test_history;
    CREATE TABLE ${HISTORY} (
      seq bigserial PRIMARY KEY,
      transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
      relation text NOT NULL,
      kind text NOT NULL,
      row jsonb NOT NULL
    );
    CREATE FUNCTION test_history.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO ${HISTORY} (relation, kind, row)
      VALUES (TG_TABLE_NAME, TG_OP, to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END));
      RETURN NULL;
    END $$;
    ${judgedTables
      .map(
        (table) =>
          `CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON ${table}
           FOR EACH ROW EXECUTE FUNCTION test_history.note();`,
      )
      .join('\n')}`);
}

/** Read in a moment, also on a loaded machine. A long run has hundreds of thousands of changes. */
const PER_READ = 2_000;

export async function readRowChanges(pool: Pool): Promise<RowChange[]> {
  const changes: RowChange[] = [];
  for (;;) {
    const { rows } = await pool.query<Omit<RowChange, 'seq'> & { seq: string }>(
      `SELECT seq, transaction::text, relation AS table, kind, row FROM ${HISTORY} WHERE seq > $1 ORDER BY seq LIMIT $2`,
      [changes.at(-1)?.seq ?? 0, PER_READ],
    );
    changes.push(...rows.map((change) => ({ ...change, seq: Number(change.seq) })));
    if (rows.length < PER_READ) return changes;
  }
}
