import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@corral/testing';
import { say, table } from '../load/report.js';
import { atMost, type Verdict } from '../verdicts.js';
import { type BenchApi, type ClusterRig, clusterSpec, startClusterRig } from './cluster-rig.js';
import { openFollowers } from './followers.js';

export interface StreamsBenchOptions {
  /** How long changes are made. */
  readonly seconds: number;
  /** The number of streams of one replica. */
  readonly streams: number;
  /** How long memory is watched after they were closed. In 35 s, two heartbeats release all that a connection left behind. */
  readonly restSeconds: number;
}

const CHANGES_PER_SECOND = 2;
const WARM_UP_SECONDS = 10;
const CHANGED_CLUSTERS = 20;
const SAMPLE_MS = 250;
const MINUTE_MS = 60_000;
const AIM_MIB = 200;

type Pair = readonly [without: number, withStreams: number];

/**
 * Measures what open streams cost a replica: two replicas do the same work, each every other change, and one of them has
 * all the streams.
 */
export async function benchStreams(options: StreamsBenchOptions): Promise<Verdict[]> {
  const rig = await startClusterRig();
  try {
    const apis: [BenchApi, BenchApi] = [await rig.startApi(), await rig.startApi()];
    await changeFor(apis, WARM_UP_SECONDS);
    const before = memoryOf(apis);
    return await measure(rig, apis, { ...options, before });
  } finally {
    await rig.stop();
  }
}

async function measure(
  rig: ClusterRig,
  apis: [BenchApi, BenchApi],
  { seconds, streams, restSeconds, before }: StreamsBenchOptions & { before: Pair },
): Promise<Verdict[]> {
  const eventsBefore = await countEvents(rig);
  const highest = sampleHighest(apis);
  const followers = await openFollowers(apis[1], streams);
  const open = memoryOf(apis);
  await changeFor(apis, seconds);
  const events = (await countEvents(rig)) - eventsBefore;
  await waitFor(`${events} events to arrive on each stream`, () => followers.counts.every((count) => count >= events), {
    timeoutMs: MINUTE_MS,
  });
  const after = memoryOf(apis);
  followers.check();
  if (followers.counts.some((count) => count > events)) throw new Error('An event arrived twice');
  followers.close();
  await pause(restSeconds * 1_000);
  const closed = memoryOf(apis);
  const most = highest.end();
  // Two processes with the same work differ by the state after their start, so their growth is compared.
  const row = (what: string, [without, withStreams]: Pair) => [
    what,
    String(without),
    signed(without - before[0]),
    String(withStreams),
    signed(withStreams - before[1]),
  ];
  say(
    table(
      ['resident memory, MiB', 'without streams', 'growth', `with ${streams.toLocaleString('en')}`, 'growth'],
      [
        row('before any is open', before),
        row('all open', open),
        row(`after ${seconds} s of events`, after),
        row(`${restSeconds} s after all were closed`, closed),
        row('highest meanwhile', most),
      ],
    ),
  );
  const perSecond = (events * streams) / seconds;
  say(`Each of them got the ${events} events there were, once: ${perSecond.toFixed(0)} per second in all.`);
  const what = `memory with ${streams.toLocaleString('en')} streams`;
  return [atMost({ what, value: most[1], aim: AIM_MIB, unit: 'MiB', floor: `${most[0]} MiB without` })];
}

const signed = (number: number): string => (number > 0 ? `+ ${number}` : String(number).replace('-', '- '));

const memoryOf = ([one, other]: readonly [BenchApi, BenchApi]): Pair => [one.memory(), other.memory()];

function sampleHighest(apis: readonly [BenchApi, BenchApi]): { end(): Pair } {
  let highest = memoryOf(apis);
  const timer = setInterval(() => {
    const now = memoryOf(apis);
    highest = [Math.max(highest[0], now[0]), Math.max(highest[1], now[1])];
  }, SAMPLE_MS).unref();
  return {
    end() {
      clearInterval(timer);
      return highest;
    },
  };
}

/** Makes changes at a steady rate, through both in turns. */
async function changeFor(apis: readonly BenchApi[], seconds: number): Promise<void> {
  const startedAt = performance.now();
  for (let index = 0; index < seconds * CHANGES_PER_SECOND; index += 1) {
    await pause(Math.max(0, startedAt + (index * 1_000) / CHANGES_PER_SECOND - performance.now()));
    const name = `c${Math.floor(index / apis.length) % CHANGED_CLUSTERS}`;
    const maximum = 2 + (index % 50);
    await apis[index % apis.length]?.call('PUT', `/clusters/${name}/`, { spec: clusterSpec(maximum) });
  }
}

async function countEvents({ pool }: ClusterRig): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM team_event');
  return rows[0]?.count ?? 0;
}
