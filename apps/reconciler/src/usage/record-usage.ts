import type { TeamId } from '@corral/contracts';
import type { CounterStore } from './counter-store.js';
import { clusterUsageOf } from './sample.js';
import type { SampleStore } from './sample-store.js';

/** Teams per statement: their clusters are in memory together. */
const TEAMS_AT_ONCE = 100;

export interface RecordUsageDeps {
  readonly counters: CounterStore;
  readonly samples: SampleStore;
  /** The database's clock, as hours are those of all replicas. */
  readonly now: () => Promise<Date>;
  /** The quota of records per team. */
  readonly recordsLimit: number;
  /** Called after each group of teams, with its size. */
  readonly onRecorded: (teams: number) => void;
}

/**
 * Records what all teams have now, and adds up their counters of this hour and of earlier ones that are not final. Each statement is
 * complete by itself, so a run may end anywhere, and any number of runs may overlap: the next one does what is left.
 *
 * @returns the number of recorded teams
 */
export const recordUsage =
  ({ counters, samples, now, recordsLimit, onRecorded }: RecordUsageDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    const hours = await counters.openHours(await now());
    let recorded = 0;
    for await (const teams of groupsOfTeams(samples, signal)) {
      const at = await now();
      await recordSamples(samples, { teams, at, recordsLimit });
      await counters.count(teams, hours, at);
      recorded += teams.length;
      onRecorded(teams.length);
    }
    return recorded;
  };

async function* groupsOfTeams(samples: SampleStore, signal: AbortSignal): AsyncGenerator<readonly TeamId[], void> {
  let after: TeamId | null = null;
  while (!signal.aborted) {
    const teams: readonly TeamId[] = await samples.listTeams(after, TEAMS_AT_ONCE);
    if (teams.length > 0) yield teams;
    if (teams.length < TEAMS_AT_ONCE) return;
    after = teams.at(-1) ?? null;
  }
}

interface SampleRun {
  readonly teams: readonly TeamId[];
  readonly at: Date;
  readonly recordsLimit: number;
}

async function recordSamples(samples: SampleStore, { teams, at, recordsLimit }: SampleRun): Promise<void> {
  const dns = await samples.readDns(teams, at);
  const clusters = await samples.readClusters(teams);
  await samples.write(
    dns.map((sample) => ({ ...sample, ...clusterUsageOf(clusters.get(sample.teamId) ?? []) })),
    recordsLimit,
  );
}
