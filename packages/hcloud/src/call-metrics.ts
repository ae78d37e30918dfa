import type { Metrics } from '@corral/service';
import type { UpstreamCall } from './client.js';

/** A place for `onCall` that keeps how long the calls take and how they end. */
export function upstreamCallMetrics(metrics: Pick<Metrics, 'histogram'>): (call: UpstreamCall) => void {
  const seconds = metrics.histogram({
    name: 'corral_upstream_call_seconds',
    help: 'Calls of the upstream API',
    labelNames: ['route', 'outcome'],
  });
  return ({ route, outcome, ms }) => seconds.observe({ route, outcome }, ms / 1_000);
}
