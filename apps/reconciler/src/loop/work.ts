import type { Prisma } from '@corral/database';
import type { RrsetSource } from '@corral/dns-data';
import type { JobContext, JobHandlers } from '@corral/queue';
import { inSpan, isTracing, type OpenSpan, openSpan, orAborted } from '@corral/service';

/** The handler of a job without a payload. The queue runs one at a time of those that were sent at an interval or for the same reason. */
export const withSignal =
  <T>(work: (signal: AbortSignal) => Promise<T>) =>
  (_payload: unknown, { signal }: JobContext): Promise<T> =>
    work(signal);

interface Batches<T> {
  /** Claims at most `limit` items. */
  readonly claim: (limit: number) => Promise<readonly T[]>;
  readonly work: (item: T) => Promise<unknown>;
  readonly size: number;
}

/**
 * Works on due items in batches until a batch is not full or the signal aborts.
 *
 * @returns the number of processed items
 */
export async function inBatches<T>({ claim, work, size }: Batches<T>, signal: AbortSignal): Promise<number> {
  let done = 0;
  while (!signal.aborted) {
    const batch = await claim(size);
    await Promise.all(batch.map(work));
    done += batch.length;
    if (batch.length < size) break;
  }
  return done;
}

/** The process is shutting down. Unfinished work is left to the next one. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor() {
    super('The reconciler is shutting down.');
  }
}

/**
 * Awaits a read until the signal aborts, so that shutdown does not wait for a hanging read.
 *
 * @throws Stopped when the signal aborts first. A later result or error is dropped
 */
export async function unlessStopped<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw new Stopped();
  return orAborted(read(), signal, () => new Stopped());
}

/** A source whose reads are awaited until the signal aborts. */
export function untilStopped(source: RrsetSource, signal: AbortSignal): RrsetSource {
  return {
    readRrset: (...asked) => unlessStopped(() => source.readRrset(...asked), signal),
    readZone: (...asked) => unlessStopped(() => source.readZone(...asked), signal),
  };
}

/** More open operations on one thing are never of interest. */
const CAUSES_MAX = 8;

/**
 * Runs a pass as a part of the trace of the newest open operation on its target: request, queue and pass are one trace.
 * Older operations are links. Without tracing nothing is read.
 */
export const passTraces =
  (prisma: Prisma) =>
  async <T>(name: string, targetId: string, work: (span: OpenSpan | null) => Promise<T>): Promise<T> => {
    if (!isTracing()) return work(null);
    const [cause, ...older] = await prisma.operation.findMany({
      where: { targetId, finishedAt: null, traceparent: { not: null } },
      orderBy: { createdAt: 'desc' },
      take: CAUSES_MAX,
    });
    const parent = cause?.traceparent ?? null;
    if (cause?.state === 'queued') openSpan('wait in the queue', { parent, startedAt: cause.createdAt })?.end();
    return inSpan(
      name,
      { kind: 'consumer', parent, links: older.map(({ traceparent }) => traceparent as string) },
      work,
    );
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
