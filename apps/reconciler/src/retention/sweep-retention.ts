import type { Pool } from '@corral/database';
import type { Log } from '@corral/service';
import { retentionStatement } from './retention-statement.js';
import type { RetentionRule } from './rules.js';

export interface SweepRetentionDeps {
  readonly pool: Pick<Pool, 'query'>;
  readonly rules: readonly RetentionRule[];
  /** Told after each step, so that what a sweep has done is known while it lasts. */
  readonly onSwept: (rule: string, rows: number) => void;
  readonly log: Log;
}

/** How many rows each rule took, of those that took any. */
export type Swept = Readonly<Record<string, number>>;

/**
 * Applies every rule until nothing is left to do for it or the signal comes: in steps of a statement each, so that nobody
 * waits long for a row or a connection. All times are the database's. Any number of sweeps may run at once.
 *
 * @throws the first failure, when the rules after it have had their turn: one table in trouble keeps no other from being
 *   swept
 */
export const sweepRetention =
  ({ pool, rules, onSwept, log }: SweepRetentionDeps) =>
  async (signal: AbortSignal): Promise<Swept> => {
    const swept: Record<string, number> = {};
    const failures: unknown[] = [];
    for (const rule of rules) {
      try {
        for await (const rows of steps(pool, rule, signal)) {
          swept[rule.name] = (swept[rule.name] ?? 0) + rows;
          onSwept(rule.name, rows);
        }
      } catch (error) {
        log.error('retention: a table was not swept', { rule: rule.name, error });
        failures.push(error);
      }
    }
    if (Object.keys(swept).length > 0) log.info('old rows swept', swept);
    if (failures.length > 0) throw failures[0];
    return swept;
  };

/** A step that finds fewer rows than it may take is the last one: others are taken by another sweep just now. */
async function* steps(
  pool: Pick<Pool, 'query'>,
  rule: RetentionRule,
  signal: AbortSignal,
): AsyncGenerator<number, void> {
  const text = retentionStatement(rule);
  for (let rows = rule.limit; rows === rule.limit && !signal.aborted; ) {
    rows = (await pool.query(text, [rule.days, rule.limit])).rowCount ?? 0;
    if (rows > 0) yield rows;
  }
}
