import type { ClusterId } from '@corral/contracts';
import type { JobContext, JobHandlers } from '@corral/queue';
import type { Log } from '@corral/service';
import type { GardenGate } from '../garden/gate.js';
import { planNext, type RowJobs } from '../loop/due-rows.js';
import { Stopped, withSignal } from '../loop/run-bounds.js';
import type { passTraces } from '../loop/traced-work.js';
import type { ClusterMetrics } from './metrics.js';
import type { PassEnd, PassResult } from './pass.js';

export interface ReconcileDeps {
  readonly pass: (clusterId: ClusterId, stop: AbortSignal) => Promise<PassResult>;
  readonly traced: ReturnType<typeof passTraces>;
  readonly gate: GardenGate;
  readonly jobs: Pick<RowJobs<ClusterId>, 'send'>;
  /** Wakes those who wait for the garden. Never rejects. */
  readonly onGardenBack: () => Promise<void>;
  readonly metrics: ClusterMetrics;
  readonly log: Log;
}

/**
 * Runs a pass when the gate admits it, and schedules the next one. Requeueing, metrics and the log line are here, so that a
 * pass contains none of them.
 */
export function reconcileHandler({ pass, traced, gate, jobs, onGardenBack, metrics, log }: ReconcileDeps) {
  return async ({ clusterId }: { clusterId: ClusterId }, { signal }: Pick<JobContext, 'signal'>) => {
    const leave = await gate.enter(clusterId, signal).catch((error: unknown) => {
      if (error instanceof Stopped) return null;
      throw error;
    });
    if (leave === null) return planNext(jobs, clusterId, { kind: 'stopped' }, log);
    const startedAt = performance.now();
    let result: PassResult | null = null;
    let traceId: string | undefined;
    try {
      result = await traced('reconcile cluster', clusterId, async (span) => {
        const done = await pass(clusterId, signal);
        traceId = span?.traceId;
        span?.set({
          'corral.cluster.id': clusterId,
          'corral.pass.end': outcomeOf(done.end),
          'corral.pass.steps': done.steps,
        });
        return done;
      });
    } finally {
      leave(result?.report ?? null);
    }
    const { end, steps } = result;
    const outcome = outcomeOf(end);
    metrics.passes.inc({ outcome });
    if (didWork(end)) {
      const seconds = (performance.now() - startedAt) / 1_000;
      metrics.passSeconds.observe({ outcome }, seconds);
      logEnd(log, clusterId, end, { traceId, steps, ms: Math.round(seconds * 1_000) });
    }
    await planNext(jobs, clusterId, end, log);
    if (result.isGardenBack) await onGardenBack();
  };
}

const outcomeOf = (end: PassEnd): string =>
  end.kind === 'failed' ? `failed_${end.failure}` : end.kind.replaceAll(' ', '_');

const didWork = ({ kind }: PassEnd): boolean => kind !== 'busy' && kind !== 'idle' && kind !== 'not due';

interface PassFields {
  readonly traceId: string | undefined;
  readonly steps: readonly string[];
  readonly ms: number;
}

function logEnd(log: Log, clusterId: ClusterId, end: PassEnd, fields: PassFields): void {
  if (end.kind !== 'failed') {
    const inMs = end.kind === 'finished' ? { inMs: end.inMs } : {};
    log.info('pass done', { clusterId, end: end.kind, ...fields, ...inMs });
    return;
  }
  const { failure, inMs, error } = end;
  const line = failure === 'bug' || failure === 'platform' ? log.error : log.warn;
  line('pass failed', { clusterId, failure, ...fields, inMs, error });
}

type Work = (signal: AbortSignal) => Promise<unknown>;

export function upkeepHandlers(
  work: Readonly<Record<'sweep' | 'verify' | 'refreshPrices' | 'countNodes' | 'cleanUp', Work>>,
) {
  return {
    'sweep-clusters': withSignal(work.sweep),
    'verify-connections': withSignal(work.verify),
    'refresh-prices': withSignal(work.refreshPrices),
    'count-nodes': withSignal(work.countNodes),
    'clean-up-garden': withSignal(work.cleanUp),
  } satisfies JobHandlers<'upkeep'>;
}
