import type { Pool } from '@corral/database';
import type { JobHandlers } from '@corral/queue';
import { inSpan, isTracing, type OpenSpan, openSpan } from '@corral/service';

interface Cause {
  readonly traceparent: string;
  readonly state: string;
  readonly createdAt: Date;
}

/** Of the open operations on one thing, more are never of interest. */
const CAUSES_MAX = 8;

/**
 * Runs a pass as a part of the trace of the newest open operation on its target: request, queue and pass are one trace.
 * Older operations are links. Without tracing nothing is read.
 */
export const passTraces =
  (pool: Pool) =>
  async <T>(name: string, targetId: string, work: (span: OpenSpan | null) => Promise<T>): Promise<T> => {
    if (!isTracing()) return work(null);
    const { rows } = await pool.query<Cause>(
      `SELECT traceparent, state, created_at AS "createdAt" FROM operation
       WHERE target_id = $1 AND finished_at IS NULL AND traceparent IS NOT NULL ORDER BY created_at DESC LIMIT ${CAUSES_MAX}`,
      [targetId],
    );
    const [cause, ...older] = rows;
    const parent = cause?.traceparent ?? null;
    if (cause?.state === 'queued') openSpan('wait in the queue', { parent, startedAt: cause.createdAt })?.end();
    return inSpan(name, { kind: 'consumer', parent, links: older.map(({ traceparent }) => traceparent) }, work);
  };

/** Runs each job as a trace of its own. */
export function tracedJobs<H extends Partial<JobHandlers>>(handlers: H): H {
  type AnyHandler = (...args: never[]) => Promise<unknown>;
  const traced = Object.entries(handlers).map(([name, handler]) => {
    const run = handler as AnyHandler;
    const wrapped: AnyHandler = (...args) => inSpan(name, { kind: 'consumer', parent: null }, () => run(...args));
    return [name, wrapped];
  });
  return Object.fromEntries(traced) as H;
}
