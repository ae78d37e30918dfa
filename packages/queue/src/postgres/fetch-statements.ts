/** What BullMQ reads of a job. Named, so that a prepared statement survives an upgrade that adds a column. */
const columns = `
  job.id, job.name, job.data, job.opts, job.progress, job.attempts_made, job.attempts_started, job.finished_at_ms, job.processed_at_ms,
  job.added_at_ms, job.delay_ms, job.priority, job.failed_reason, job.stacktrace, job.return_value, job.parent_id, job.parent_queue,
  job.parent_key, job.scheduler_id, job.dedup_id, job.deferred_failure, job.processed_by, job.stalled_count`;

/** Fetches a job. Without one, there is one row without an id, which says when the next delayed job is due. */
const fetchBy = (call: string): string =>
  `SELECT ${columns}, CASE WHEN job.id IS NULL THEN next_delay($1) END AS next_delay
   FROM (SELECT) AS one LEFT JOIN LATERAL ${call} AS job ON true`;

/** In place of BullMQ's commands of these names, with their parameters. */
export const fetchStatements: Readonly<Record<string, string>> = {
  move_to_active: fetchBy('move_to_active($1, $2, $3, $4, $5, $6, $7)'),
  move_to_completed_fetch: fetchBy(
    'move_to_completed_fetch($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
  ),
  move_to_failed_fetch: fetchBy(
    'move_to_failed_fetch($1, $2, $3, $4, $5::jsonb, $6, $7, $8, $9, $10, $11, $12, $13, $14)',
  ),
};
