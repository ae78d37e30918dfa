import type { Metrics } from '@corral/service';
import type { BudgetReading } from './account/budget-state.js';
import type { TurnTaken } from './replica/scheduler.js';

/**
 * Registers metrics of what is left of the upstream's budget, and of the waits for it.
 *
 * @param read the client's `budget`; called when metrics are collected
 * @returns a place for `onTurn`
 */
export function upstreamBudgetMetrics(
  metrics: Pick<Metrics, 'histogram' | 'counter' | 'gauge'>,
  read: () => BudgetReading,
): (taken: TurnTaken) => void {
  const gaugeOf = (name: string, help: string, value: (reading: BudgetReading) => number | null) =>
    metrics.gauge({
      name,
      help,
      collect() {
        const now = value(read());
        // None is better than a made-up one.
        if (now === null) this.remove();
        else this.set(now);
      },
    });
  gaugeOf('corral_upstream_budget_limit_requests', 'Requests per hour that the upstream grants', (of) => of.limit);
  gaugeOf('corral_upstream_budget_left_requests', 'Requests that can be made now', (of) => of.remaining);
  metrics.gauge({
    name: 'corral_upstream_waiting_requests',
    help: 'Requests of all processes that wait for their turn at the upstream',
    labelNames: ['class'],
    collect() {
      for (const [callClass, count] of Object.entries(read().waiting)) this.set({ class: callClass }, count);
    },
  });
  const waits = metrics.histogram({
    name: 'corral_upstream_wait_seconds',
    help: 'Waits for a turn at the upstream that were followed by a call',
    labelNames: ['class'],
    buckets: [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16],
  });
  const refused = metrics.counter({
    name: 'corral_upstream_refused_total',
    help: 'Requests that could not have their turn in time: nothing was sent',
    labelNames: ['class'],
  });
  return ({ class: callClass, outcome, ms }) => {
    if (outcome === 'go') waits.observe({ class: callClass }, ms / 1_000);
    if (outcome === 'refused') refused.inc({ class: callClass });
  };
}
