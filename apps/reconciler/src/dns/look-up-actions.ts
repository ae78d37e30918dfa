import { type ActionStore, givenUp, type PollTurns, type ToldAction, type UnfinishedAction } from '@corral/dns-mirror';
import { type ActionReading, UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import type { DnsMetrics } from './dns-metrics.js';

export interface LookUpDeps {
  readonly turns: Pick<PollTurns, 'claimLookUp'>;
  readonly store: Pick<ActionStore, 'recordActions'>;
  readonly read: (ids: readonly number[]) => Promise<ActionReading[]>;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly now: () => Date;
  /** Shortest time between two calls, of all processes together. */
  readonly intervalMs: number;
  /** An action that the upstream has not ended by then counts as failed. */
  readonly runningMsMax: number;
}

export interface LookUpResult {
  readonly asked: number;
  /** Writes that had no effect after all: their sets are to be read again. */
  readonly failed: number;
}

/**
 * One pass: asks how actions got on that no client asks for, as many as fit into one call. Most clients never ask, and a
 * write whose action failed would leave the mirror wrong until the next walk over the zone.
 */
export const lookUpActions = (deps: LookUpDeps) => async (): Promise<LookUpResult> => {
  const unfinished = await deps.turns.claimLookUp(deps.intervalMs, deps.runningMsMax);
  if (unfinished.length === 0) return { asked: 0, failed: 0 };
  const told = await read(deps, unfinished);
  if (told === null) return { asked: unfinished.length, failed: 0 };
  const failed = await deps.store.recordActions(told);
  for (const { status } of told) deps.metrics.lookUps.inc({ outcome: status });
  for (const { entryId, key } of failed) deps.log.warn('action failed', { entryId, name: key.name, type: key.type });
  return { asked: unfinished.length, failed: failed.length };
};

/** @returns null when the upstream could not be asked: then nothing was learnt */
async function read(deps: LookUpDeps, unfinished: readonly UnfinishedAction[]): Promise<ToldAction[] | null> {
  try {
    const told = await deps.read(unfinished.map(({ id }) => id));
    return withEnds(unfinished, told, deps.now());
  } catch (error) {
    if (!(error instanceof UpstreamUnavailable)) throw error;
    deps.metrics.lookUps.inc({ outcome: 'away' });
    deps.log.warn('actions not looked up', { error });
    return null;
  }
}

/** What was told, and an end for those that run for too long or that the upstream knows nothing of any more. */
function withEnds(unfinished: readonly UnfinishedAction[], told: readonly ActionReading[], now: Date): ToldAction[] {
  const readings = new Map(told.map((reading) => [reading.id, reading]));
  return unfinished.flatMap((action): ToldAction[] => {
    const reading = readings.get(action.id);
    if (reading !== undefined && reading.status !== 'running') return [reading];
    if (action.overdue) return [givenUp({ id: action.id, body: reading?.body ?? action.body }, now)];
    return reading === undefined ? [] : [reading];
  });
}
