import type { JobContext } from '@corral/queue';
import type { Log } from '@corral/service';
import { planNext } from '../loop/plan-next.js';
import type { WakeUps } from '../loop/wake-ups.js';
import type { ServerMetrics } from './server-metrics.js';
import type { ServerPassResult } from './server-pass.js';

export interface ReconcileServerDeps {
  readonly pass: (id: string, stop: AbortSignal) => Promise<ServerPassResult>;
  readonly wakeUps: WakeUps;
  readonly metrics: ServerMetrics;
  readonly log: Log;
}

/** What is due later the sweep finds in time: a queue need not keep it for a day. */
const SOON_MS = 300_000;

/** Runs a pass and sees to the next one. */
export function reconcileServerHandler({ pass, wakeUps, metrics, log }: ReconcileServerDeps) {
  return async ({ serverId }: { serverId: string }, { signal }: JobContext): Promise<void> => {
    const { end, steps } = await pass(serverId, signal);
    metrics.passes.inc({ outcome: end.kind.replaceAll(' ', '_') });
    // Nodes are looked at every minute.
    const isMereLook = steps.every((step) => step === 'readNode');
    if (!isMereLook) log.info('server pass done', { serverId, end: end.kind, steps });
    await planNext(wakeUps, serverId, end, { delayMsMax: SOON_MS });
  };
}
