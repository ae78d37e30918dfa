import type { RetentionRule } from './rules.js';

const CUTOFF = `(now() - $1::float8 * interval '1 day')`;

/**
 * The statement of one step: `$1` are the rule's days, `$2` is how many rows it takes at most. Rows that somebody else
 * holds are passed over, so two sweeps at once share the work, and neither waits.
 */
export function retentionStatement({ table, key, since, when = 'true', set }: RetentionRule): string {
  const condition = when.replaceAll('$cutoff', CUTOFF);
  const same = key.map((column) => `${table}.${column} = due.${column}`).join(' AND ');
  // Materialized: with a plan that reads it twice, the limit would hold for each reading.
  return `
    WITH due AS MATERIALIZED (
      SELECT ${key.join(', ')} FROM ${table}
      WHERE ${since} < ${CUTOFF} AND ${condition}
      LIMIT $2 FOR UPDATE OF ${table} SKIP LOCKED
    )
    ${set === undefined ? `DELETE FROM ${table} USING due` : `UPDATE ${table} SET ${set} FROM due`} WHERE ${same}`;
}
