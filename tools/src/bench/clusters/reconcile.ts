import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '@corral/contracts';
import type { Shoot } from '@corral/garden';
import { waitFor } from '@corral/testing';
import { atRate, median, middleBy, percentile } from '../load/load.js';
import { say, table } from '../load/report.js';
import { atLeast, atMost, type Verdict } from '../verdicts.js';
import { type ClusterRig, clusterSpec, startClusterRig } from './cluster-rig.js';
import { type Cost, costMeter } from './cost-meter.js';
import { measureSteady, putOffCounts, RELIST_MS, type SteadyOptions, untilConverged } from './steady.js';

export interface ReconcileBenchOptions {
  /** The duration of the latency measurement. */
  readonly seconds: number;
  /** How many workers share the changes, one number after another. Four of them are compared with one. */
  readonly workers: readonly number[];
  readonly steady: SteadyOptions;
}

const CHANGES_PER_SECOND = 20;
/** Enough clusters that none is changed again before its last change has converged. */
const CHANGED_CLUSTERS = 200;
/** So often all clusters are changed before anything is measured, by one worker, and by all: a process compiles its code while it works. */
const [WARM_UPS, WARM_UPS_OF_ALL] = [8, 3];
/** So often convergence is measured, for each number of workers and for the loop. The one in the middle counts. */
const ROUNDS = 5;
/** The aims. */
const [WRITE_P50_MS, WRITE_P99_MS, OF_LOOP] = [6, 25, 0.7];

/** Measures the time from a change to the garden, changes to convergence, and the cost of steady clusters. */
export async function benchReconcile({ seconds, workers, steady }: ReconcileBenchOptions): Promise<Verdict[]> {
  const rig = await startClusterRig({ relistMs: RELIST_MS });
  try {
    await rig.startReconcilers(1);
    // The first time creates them.
    await warmUp(rig, 1 + WARM_UPS);
    return [
      ...(await measureLatency(rig, seconds)),
      ...(await measureThroughput(rig, workers)),
      ...(await measureSteady(rig, steady)),
    ];
  } finally {
    await rig.stop();
  }
}

const nameOf = (index: number): string => `c${index % CHANGED_CLUSTERS}`;

/** @returns the ID of the cluster and the generation of the change */
async function change(rig: ClusterRig, index: number, maximum: number): Promise<string> {
  const { status, body } = await rig.call('PUT', `/clusters/${nameOf(index)}/`, { spec: clusterSpec(maximum) });
  if (status !== 202) throw new Error(`A change of ${nameOf(index)} was answered ${status}`);
  const { metadata } = (body as { resource: Cluster }).resource;
  return `${metadata.id}/${metadata.generation}`;
}

/** Each time another one, as otherwise nothing changes. `measureLatency` takes lower ones. */
let lastMaximum = 10;

async function changeAll(rig: ClusterRig): Promise<void> {
  lastMaximum += 1;
  for (let index = 0; index < CHANGED_CLUSTERS; index += 1) await change(rig, index, lastMaximum);
}

async function warmUp(rig: ClusterRig, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await changeAll(rig);
    await untilConverged(rig);
  }
}

async function measureLatency(rig: ClusterRig, seconds: number): Promise<Verdict[]> {
  const seenAt = new Map<string, number>();
  const watching = new AbortController();
  const note = (key: string) => {
    if (!seenAt.has(key)) seenAt.set(key, performance.now());
  };
  const { watched, isOpen } = watchShoots(rig, watching.signal, note);
  await isOpen;
  const answeredAt = new Map<string, number>();
  await atRate(CHANGES_PER_SECOND, seconds, async (index) => {
    const key = await change(rig, index, 3 + (Math.floor(index / CHANGED_CLUSTERS) % 5));
    answeredAt.set(key, performance.now());
  });
  await waitFor('all changes to be seen at the garden', () => [...answeredAt.keys()].every((key) => seenAt.has(key)), {
    timeoutMs: 60_000,
  });
  watching.abort();
  await watched;
  // A write may even arrive before the client has read its answer.
  const waits = [...answeredAt].map(([key, at]) => Math.max(0, (seenAt.get(key) as number) - at)).sort((a, b) => a - b);
  const [p50, p99] = [percentile(waits, 0.5), percentile(waits, 0.99)];
  say(
    table(
      [`from 202 to the garden, ${CHANGES_PER_SECOND}/s`, 'p50 ms', 'p99 ms'],
      [
        ['1 worker, as seen by a watch', p50.toFixed(1), p99.toFixed(1)],
        ['aim', String(WRITE_P50_MS), String(WRITE_P99_MS)],
      ],
    ),
  );
  await untilConverged(rig);
  const what = 'from 202 to the first write at the garden';
  return [
    atMost({ what: `${what}, p50`, value: p50, aim: WRITE_P50_MS, unit: 'ms' }),
    atMost({ what: `${what}, p99`, value: p99, aim: WRITE_P99_MS, unit: 'ms' }),
  ];
}

async function measureThroughput(rig: ClusterRig, counts: readonly number[]): Promise<Verdict[]> {
  await rig.startReconcilers(Math.max(...counts) - 1);
  await warmUp(rig, WARM_UPS_OF_ALL);
  const loops: number[] = [];
  const bursts = new Map(counts.map((count) => [count, [] as Burst[]]));
  // In turns, and in turns the first, so that what else the machine does affects all of them.
  for (let round = 0; round < ROUNDS; round += 1) {
    loops.push(await measureLoop(rig));
    const order = [...bursts];
    for (const [count, measured] of round % 2 === 0 ? order : order.reverse()) {
      measured.push(await measureBurst(rig, count));
    }
  }
  const bare = median(loops);
  const perChange = (amount: number) => (amount / CHANGED_CLUSTERS).toFixed(1);
  const rows = [...bursts].map(([count, measured]) => {
    const { perSecond, statements, commits, calls, cpu } = middleBy(measured, rateOf);
    return [
      `${count} ${count === 1 ? 'worker' : 'workers'}`,
      perSecond.toFixed(0),
      rangeOf(measured.map(rateOf)),
      (perSecond / bare).toFixed(2),
      ...[statements, commits, calls].map(perChange),
      ...['reconcilers', 'Postgres', 'garden'].map((part) => perChange((cpu[part] ?? 0) * 1_000)),
    ];
  });
  say(
    table(
      [
        `${CHANGED_CLUSTERS} changes to convergence`,
        'per second',
        'lowest to highest',
        'ratio',
        'per change: statements',
        'commits',
        'garden calls',
        'CPU ms: workers',
        'Postgres',
        'garden',
      ],
      [['bare loop on the garden, 16 at a time', bare.toFixed(0), rangeOf(loops)], ...rows],
    ),
  );
  const [one, four] = [1, 4].map((count) => bursts.get(count) ?? []) as [Burst[], Burst[]];
  const rate = median(one.map(rateOf));
  const { mean, error } = meanOf(one.map((burst, round) => rateOf(four[round] as Burst) / rateOf(burst)));
  return [
    atLeast({
      what: 'convergence with one worker, of a bare loop',
      floor: `${bare.toFixed(0)} per second`,
      value: rate / bare,
      aim: OF_LOOP,
    }),
    // No slower, within what the turns of this run differ by.
    atLeast({
      what: 'convergence with four workers, of one',
      floor: `${rate.toFixed(0)} per second`,
      value: mean,
      aim: 1 - 2 * error,
    }),
  ];
}

interface Burst extends Cost {
  readonly perSecond: number;
  /** Of the garden. */
  readonly calls: number;
}

const rateOf = ({ perSecond }: Burst): number => perSecond;

/** Changes all clusters while no reconciler runs, and measures from then on, while as many of them run. */
async function measureBurst(rig: ClusterRig, count: number): Promise<Burst> {
  await putOffCounts(rig);
  const resume = await rig.suspendReconcilers();
  await changeAll(rig);
  await rig.resetCalls();
  const readCost = await costMeter({ pool: rig.pool, pids: rig.pids() });
  const since = await databaseTime(rig);
  resume(count);
  await untilConverged(rig);
  const perSecond = await operationsPerSecond(rig, since);
  const calls = Object.values(await rig.gardenCalls()).reduce((sum, times) => sum + times, 0);
  const cost = await readCost();
  resume();
  return { ...cost, perSecond, calls };
}

const rangeOf = (rates: readonly number[]): string =>
  `${Math.min(...rates).toFixed(0)} to ${Math.max(...rates).toFixed(0)}`;

/** With its standard error: were they measured again, the mean would be within two of them in 9 of 10 cases. */
function meanOf(all: readonly number[]): { mean: number; error: number } {
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  const squares = all.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / (all.length - 1) / all.length) };
}

/** Measures the loop while no reconciler runs, and lets them read then what the watch has reported meanwhile. */
async function measureLoop(rig: ClusterRig): Promise<number> {
  const resume = await rig.suspendReconcilers();
  const perSecond = await bareLoop(rig);
  resume();
  await pause(SETTLE_MS);
  await untilConverged(rig);
  return perSecond;
}

const SETTLE_MS = 1_000;

/** Reconciles the same clusters directly on the garden and waits for each, which shows the limit of the garden itself. */
async function bareLoop({ garden }: ClusterRig): Promise<number> {
  const { shoots } = await garden.listShoots({ labelSelector: 'corral.dev/managed=true' });
  const waiting = [...shoots];
  const startedAt = performance.now();
  const annotations = { 'gardener.cloud/operation': 'reconcile' };
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { namespace, name, uid } = next.metadata;
      const annotated = await garden.annotateShoot({ namespace, name, uid, annotations });
      const generation = annotated.metadata.generation;
      await waitFor(`${name} to be reconciled`, async () => {
        const status = (await garden.readShoot({ namespace, name }))?.status;
        return (status?.observedGeneration ?? 0) >= generation && status?.lastOperation?.state === 'Succeeded';
      });
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return shoots.length / ((performance.now() - startedAt) / 1_000);
}

async function databaseTime({ pool }: ClusterRig): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>('SELECT now()');
  return (rows[0] as { now: Date }).now;
}

/** Measures until the last end. The database's clock tells it, because its end is seen later. */
async function operationsPerSecond({ pool }: ClusterRig, since: Date): Promise<number> {
  const { rows } = await pool.query<{ ended: number; seconds: number }>(
    `SELECT count(*)::int AS ended, extract(epoch FROM max(finished_at) - $1)::float8 AS seconds
     FROM operation WHERE finished_at >= $1 AND state = 'succeeded'`,
    [since],
  );
  const { ended, seconds } = rows[0] as { ended: number; seconds: number };
  return ended / seconds;
}

/** @returns `isOpen`: resolves when all later changes are reported. `watched`: resolves when the watch has ended */
function watchShoots({ garden }: ClusterRig, signal: AbortSignal, onChange: (change: string) => void) {
  const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>();
  const watched = garden.watchShoots({
    labelSelector: 'corral.dev/managed=true',
    summarize: changeIn,
    onPage: () => undefined,
    onListed: () => undefined,
    onEvents(events) {
      for (const { shoot } of events) onChange(shoot);
    },
    onState({ phase }) {
      if (phase === 'watching') opened();
    },
    relistEveryMs: 3_600_000,
    signal,
  });
  return { watched, isOpen };
}

/** The ID of the cluster and the generation of the change that was applied last. */
const changeIn = ({ metadata: { labels, annotations } }: Shoot): string =>
  `${labels['corral.dev/cluster-id']}/${annotations['corral.dev/generation']}`;
