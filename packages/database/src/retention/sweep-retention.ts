import type { Pool } from '../connect.js';
import { type RetentionRule, retentionStatement } from './retention-rules.js';

interface SweepLog {
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
  error(message: string, fields: Readonly<Record<string, unknown>>): void;
}

interface SweepRetentionDeps {
  readonly pool: Pool;
  readonly rules: readonly RetentionRule[];
  /** Called after each step, so that progress is visible during a sweep. */
  readonly onSwept: (rule: string, rows: number) => void;
  readonly log: SweepLog;
}

/** Number of rows per rule, without rules that matched none. */
export type Swept = Readonly<Record<string, number>>;

/**
 * Applies every rule until it has no rows left or the signal aborts. Each step is one statement, so that locks and connections
 * are taken only briefly. All times are the database's. Any number of sweeps may run concurrently.
 *
 * @throws the first failure, after the remaining rules were applied: a problem with one table does not block the others
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

/** A step with fewer rows than the limit is the last one: locked rows belong to a concurrent sweep. */
async function* steps(pool: Pool, rule: RetentionRule, signal: AbortSignal): AsyncGenerator<number, void> {
  const { days, limit = 1_000 } = rule;
  const text = retentionStatement(rule);
  for (let rows = limit; rows === limit && !signal.aborted; ) {
    rows = (await pool.query(text, [days, limit])).rowCount ?? 0;
    if (rows > 0) yield rows;
  }
}
