import type { Log, Metrics } from '@corral/service';
import { isDrift, type Observation } from './observe-rrsets.js';

/** Tells of a set that was compared, unless it was as the mirror has it. */
export type DriftReporter = (observation: Observation) => void;

/** Counts drift and writes a line about each set; never what its records are. The audit entry is there already. */
export function driftReporter(metrics: Pick<Metrics, 'counter'>, log: Log): DriftReporter {
  const drifts = metrics.counter({
    name: 'corral_dns_drift_total',
    help: 'Record sets that were found changed by somebody else',
    labelNames: ['kind'],
  });
  return ({ name, type, team, result }) => {
    if (!isDrift(result)) return;
    drifts.inc({ kind: result });
    log.warn('drift', { name, type, team, kind: result });
  };
}
