import type { DemoEnds } from '@corral/demos';
import type { Log } from '@corral/service';
import type { DnsMetrics } from './dns-metrics.js';

export interface ExpireDeps {
  readonly ends: Pick<DemoEnds, 'endExpired' | 'releaseLabels'>;
  readonly metrics: DnsMetrics;
  readonly log: Log;
}

export interface ExpireResult {
  readonly ended: number;
  readonly released: number;
}

/** Thousands may end at once: each transaction stays short, so that writes of other demos need not wait for it. */
const PER_TRANSACTION = 500;

/**
 * One pass: gives the demos whose time is over their end, and frees the labels of those that are long gone. It makes no
 * upstream call, so it is never late for want of budget: what they leave behind is cleared by another loop.
 */
export const expireDemos =
  ({ ends, metrics, log }: ExpireDeps) =>
  async (signal: AbortSignal): Promise<ExpireResult> => {
    let ended = 0;
    for (let more = true; more && !signal.aborted; ) {
      const count = await ends.endExpired(PER_TRANSACTION);
      ended += count;
      more = count === PER_TRANSACTION;
    }
    const released = await ends.releaseLabels();
    metrics.demosExpired.inc(ended);
    if (ended > 0 || released > 0) log.info('demos expired', { ended, released });
    return { ended, released };
  };
