import { atRate, median, percentile } from '../load/load.js';
import { say, table } from '../load/report.js';
import { atMost, type Verdict } from '../verdicts.js';
import { type Call, type ClusterRig, clusterSpec, startClusterRig } from './cluster-rig.js';
import { costMeter } from './cost-meter.js';
import { changeFloor } from './floor.js';

export interface ChangesBenchOptions {
  /** The duration of each measurement. */
  readonly seconds: number;
  /** Whether what has no verdict is measured, too: changes at a rate, with and without a reconciler. */
  readonly explains: boolean;
}

const TEAMS = 10;
const CLUSTERS = 20;
const PER_SECOND = 50;
const P99_MS = 100;
const MAXIMA = 47;

/**
 * Changes clusters of ten teams: in turns with one transaction of the same rows, then, if it explains, one at a time and at a fixed
 * rate, without a reconciler and with one that applies them.
 */
export async function benchChanges({ seconds, explains }: ChangesBenchOptions): Promise<Verdict[]> {
  const rig = await startClusterRig();
  try {
    const teams = await Promise.all(Array.from({ length: TEAMS }, (_, index) => rig.addTeam(`team-${index}`)));
    await atRate(PER_SECOND, (TEAMS * CLUSTERS) / PER_SECOND, (index) => change(teams, index));
    const verdicts = await againstFloor(rig, teams, seconds);
    if (explains) await atRates(rig, teams, seconds);
    return verdicts;
  } finally {
    await rig.stop();
  }
}

async function atRates(rig: ClusterRig, teams: readonly Call[], seconds: number): Promise<void> {
  const rows = [await measured('without a reconciler', teams, seconds)];
  await rig.startReconcilers(1);
  rows.push(await measured('with one', teams, seconds));
  rig.yieldCores();
  rows.push(await measured('with one that gets what is left of the cores', teams, seconds));
  const head = ['PUT of a cluster', 'one at a time: p50 ms', 'p99 ms', `${PER_SECOND}/s: p50 ms`, 'p99 ms'];
  say(table(head, [...rows, ['aim', '', '', '', String(P99_MS)]]));
}

const STATEMENTS_MAX = 12;
const FLOORS_MAX = 2;
/** A process compiles its code while it serves its first thousands of requests: a service that ran for a minute is measured. */
const WARM_UP = 3_000;
const COUNTED = 100;

/** Takes turns, so that other load on the machine affects both. */
async function againstFloor(rig: ClusterRig, teams: readonly Call[], seconds: number): Promise<Verdict[]> {
  const own = await rig.addTeam('floor');
  await own('PUT', '/clusters/floor/', { spec: clusterSpec(2) });
  const floor = await changeFloor(rig.pool, rig.databaseUrl, 'floor', 'floor');
  try {
    for (let index = 0; index < WARM_UP; index += teams.length) {
      await Promise.all(teams.map((_, at) => change(teams, index + at)));
      for (let at = 0; at < teams.length; at += 1) await floor.write(index + at);
    }
    const [puts, floors]: [number[], number[]] = [[], []];
    for (const until = performance.now() + seconds * 1_000; performance.now() < until; ) {
      puts.push(await timed(() => change(teams, puts.length)));
      floors.push(await timed(() => floor.write(puts.length)));
    }
    const readCost = await costMeter({ pool: rig.pool, pids: rig.pids() });
    for (let index = 0; index < COUNTED; index += 1) await change(teams, index);
    const { statements, cpu } = await readCost();
    const [put, least] = [median(puts), median(floors)];
    const used = Object.entries(cpu).map(([part, inAll]) => `${part} ${((inAll * 1_000) / COUNTED).toFixed(1)} ms`);
    say(`A PUT in turns with one transaction of the same rows: p50 ${put.toFixed(1)} and ${least.toFixed(1)} ms.`);
    say(`${(statements / COUNTED).toFixed(1)} statements for each; CPU time: ${used.join(', ')}.
`);
    return [
      atMost({ what: 'statements of a cluster `PUT`', value: Math.round(statements / COUNTED), aim: STATEMENTS_MAX }),
      atMost({
        what: 'time of a cluster `PUT`, p50, of the floor',
        floor: `${least.toFixed(1)} ms`,
        value: put / least,
        aim: FLOORS_MAX,
        unit: 'times',
      }),
    ];
  } finally {
    await floor.close();
  }
}

async function timed(act: () => Promise<void>): Promise<number> {
  const begunAt = performance.now();
  await act();
  return performance.now() - begunAt;
}

/** How often each cluster was changed, by its place. */
const changes = new Map<number, number>();

/** Changes the clusters of one team one after the other, each time to something else. */
async function change(teams: readonly Call[], index: number): Promise<void> {
  const place = index % (teams.length * CLUSTERS);
  const before = changes.get(place) ?? 0;
  changes.set(place, before + 1);
  const name = `c${Math.floor(place / teams.length)}`;
  await teams[place % teams.length]?.('PUT', `/clusters/${name}/`, { spec: clusterSpec(2 + (before % MAXIMA)) });
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
