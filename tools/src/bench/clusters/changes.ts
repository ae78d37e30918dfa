import { atRate, percentile } from '../load/load.js';
import { say, table } from '../load/report.js';
import { type Call, clusterSpec, startClusterRig } from './cluster-rig.js';

export interface ChangesBenchOptions {
  /** The duration of each measurement. */
  readonly seconds: number;
}

const TEAMS = 10;
const CLUSTERS = 20;
const PER_SECOND = 50;
const P99_MS = 100;
/** Does not divide the number of clusters, so that each PUT is a change. */
const MAXIMA = 47;

/** Changes clusters of ten teams, one at a time and at a fixed rate, without a reconciler and with one that applies them. */
export async function benchChanges({ seconds }: ChangesBenchOptions): Promise<void> {
  const rig = await startClusterRig();
  try {
    const teams = await Promise.all(Array.from({ length: TEAMS }, (_, index) => rig.addTeam(`team-${index}`)));
    await atRate(PER_SECOND, (TEAMS * CLUSTERS) / PER_SECOND, (index) => change(teams, index));
    const rows = [await measured('without a reconciler', teams, seconds)];
    await rig.startReconcilers(1);
    rows.push(await measured('with one', teams, seconds));
    rig.yieldCores();
    rows.push(await measured('with one that gets what is left of the cores', teams, seconds));
    const head = ['PUT of a cluster', 'one at a time: p50 ms', 'p99 ms', `${PER_SECOND}/s: p50 ms`, 'p99 ms'];
    say(table(head, [...rows, ['aim', '', '', '', String(P99_MS)]]));
  } finally {
    await rig.stop();
  }
}

let changes = 0;

/** Changes the clusters of one team one after the other, each time to something else. */
async function change(teams: readonly Call[], index: number): Promise<void> {
  changes += 1;
  const name = `c${Math.floor(index / teams.length) % CLUSTERS}`;
  await teams[index % teams.length]?.('PUT', `/clusters/${name}/`, { spec: clusterSpec(2 + (changes % MAXIMA)) });
}

async function measured(what: string, teams: readonly Call[], seconds: number): Promise<string[]> {
  const alone: number[] = [];
  const until = performance.now() + seconds * 1_000;
  while (performance.now() < until) {
    const begunAt = performance.now();
    await change(teams, alone.length);
    alone.push(performance.now() - begunAt);
  }
  alone.sort((one, other) => one - other);
  const together = await atRate(PER_SECOND, seconds, (index) => change(teams, index));
  return [what, ...[alone, together].flatMap((each) => [0.5, 0.99].map((share) => percentile(each, share).toFixed(1)))];
}
