import type { JobContext } from '@corral/queue';
import type { Log } from '@corral/service';
import type { WakeUps } from '../loop/wake-ups.js';
import type { ServerMetrics } from './server-metrics.js';
import type { ServerPassEnd, ServerPassResult } from './server-pass.js';

export interface ReconcileServerDeps {
  readonly pass: (id: string, stop: AbortSignal) => Promise<ServerPassResult>;
  readonly wakeUps: WakeUps;
  readonly metrics: ServerMetrics;
  readonly log: Log;
}

/** Runs a pass and sees to the next one. */
export function reconcileServerHandler({ pass, wakeUps, metrics, log }: ReconcileServerDeps) {
  return async ({ serverId }: { serverId: string }, { signal }: JobContext): Promise<void> => {
    const { end, steps } = await pass(serverId, signal);
    metrics.passes.inc({ outcome: end.kind.replaceAll(' ', '_') });
    if (steps.length > 0) log.info('server pass done', { serverId, end: end.kind, steps });
    await planNext(wakeUps, serverId, end);
  };
}

async function planNext(wakeUps: WakeUps, id: string, end: ServerPassEnd): Promise<void> {
  switch (end.kind) {
    case 'settled':
    case 'not due':
      if (end.inMs === 0) await wakeUps.wake(id);
      else if (end.inMs !== null && end.inMs <= SOON_MS) await wakeUps.lookAgain(id, end.inMs);
      return;
    case 'stopped':
      // For another process: this one fetches no more.
      await wakeUps.wake(id);
      return;
    // Whoever holds the turn sees to the next one.
    case 'busy':
    case 'overtaken':
    case 'idle':
    case 'forgotten':
      return;
  }
}

/** What is due later the sweep finds in time: a queue need not keep it for a day. */
const SOON_MS = 300_000;
