import type { Metrics } from '@corral/service';
import type { GardenCall } from './client.js';

/** A place for `onCall` that keeps how long the calls take and how they end. */
export function gardenCallMetrics(metrics: Pick<Metrics, 'histogram'>): (call: GardenCall) => void {
  const histogram = metrics.histogram({
    name: 'corral_garden_call_seconds',
    help: 'Calls of the garden cluster',
    labelNames: ['verb', 'resource', 'outcome'],
  });
  return ({ seconds, ...labels }) => histogram.observe(labels, seconds);
}
