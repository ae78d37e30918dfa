import {
  type ActionStore,
  type PollLeases,
  type ReportedAction,
  timedOutAction,
  type UnfinishedAction,
} from '@corral/dns-data';
import { type ActionReading, UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import type { DnsMetrics } from './metrics.js';

interface LookUpDeps {
  readonly leases: PollLeases;
  readonly store: ActionStore;
  readonly read: (ids: readonly number[]) => Promise<ActionReading[]>;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly now: () => Date;
  /** Minimum time in milliseconds between two calls of all processes together. */
  readonly intervalMs: number;
  /** Milliseconds after which an unfinished action counts as failed. */
  readonly runningMsMax: number;
}

export interface LookUpResult {
  readonly asked: number;
  /** Writes that had no effect after all. Their sets must be read again. */
  readonly failed: number;
}

/**
 * One pass: polls unfinished actions that no client polls, as many as fit into one call. Most clients never poll, and a write
 * with a failed action would leave the mirror wrong until the next zone sync.
 */
export const lookUpActions = (deps: LookUpDeps) => async (): Promise<LookUpResult> => {
  const unfinished = await deps.leases.takeLookUp(deps.intervalMs, deps.runningMsMax);
  if (unfinished.length === 0) return { asked: 0, failed: 0 };
  const reports = await read(deps, unfinished);
  if (reports === null) return { asked: unfinished.length, failed: 0 };
  const failed = await deps.store.recordActions(reports);
  for (const { status } of reports) deps.metrics.lookUps.inc({ outcome: status });
  for (const { entryId, key } of failed) deps.log.warn('action failed', { entryId, name: key.name, type: key.type });
  return { asked: unfinished.length, failed: failed.length };
};

/** @returns null when the upstream did not answer */
async function read(deps: LookUpDeps, unfinished: readonly UnfinishedAction[]): Promise<ReportedAction[] | null> {
  try {
    const found = await deps.read(unfinished.map(({ id }) => id));
    return withEnds(unfinished, found, deps.now());
  } catch (error) {
    if (!(error instanceof UpstreamUnavailable)) throw error;
    deps.metrics.lookUps.inc({ outcome: 'away' });
    deps.log.warn('actions not looked up', { error });
    return null;
  }
}

/** The readings, with failed ends for actions that ran too long or that the upstream no longer knows. */
function withEnds(
  unfinished: readonly UnfinishedAction[],
  found: readonly ActionReading[],
  now: Date,
): ReportedAction[] {
  const readings = new Map(found.map((reading) => [reading.id, reading]));
  return unfinished.flatMap((action): ReportedAction[] => {
    const reading = readings.get(action.id);
    if (reading !== undefined && reading.status !== 'running') return [reading];
    if (action.overdue) return [timedOutAction({ id: action.id, body: reading?.body ?? action.body }, now)];
    return reading === undefined ? [] : [reading];
  });
}
