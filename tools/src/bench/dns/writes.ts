import { costMeter } from '../clusters/cost-meter.js';
import { atRate, bearer, median, percentile, sendWrite } from '../load/load.js';
import { say, table } from '../load/report.js';
import { atMost, type Verdict } from '../verdicts.js';
import { type DnsRig, ZONE } from './dns-rig.js';
import { createSet } from './mirror-rows.js';
import { openWriteFloor } from './write-floor.js';

const WRITTEN_SETS = 50;
const PER_SECOND = 100;
const ROUNDS = 7;
/** A process compiles its code while it serves its first thousands of requests: a service that ran for minutes is measured. */
const WARM_UP = { writes: 6_000, concurrency: 8 };
/**
 * Writes before each round that are not measured. The gateway has waited meanwhile, and finds nothing in the caches of the processor, while
 * the floor is a part of the load generator.
 */
const LEAD_IN_SECONDS = 0.5;
const P50_MAX = 1.3;
const P99_MAX = 2;

export interface WritesOptions {
  /** The duration of each turn. */
  readonly seconds: number;
  /** Whether parts of the floor take turns, too, which have no aim. */
  readonly explains: boolean;
}

/** Writes through the gateway, in turns with the same calls and rows without it, so that other load affects both. */
export async function compareWrites(rig: DnsRig, { seconds, explains }: WritesOptions): Promise<Verdict[]> {
  for (let index = 0; index < WRITTEN_SETS; index += 1) await createSet(rig, `w${index}.acme`);
  let written = 0;
  const bodyOf = () => {
    written += 1;
    return JSON.stringify({ records: [{ value: `192.0.${Math.floor(written / 250) % 250}.${written % 250}` }] });
  };
  const floor = await openWriteFloor({ ...rig, databaseUrl: rig.base.databaseUrl });
  try {
    const [direct, through] = [bearer(rig.cloudToken), bearer(rig.token)];
    const compared: [string, Write][] = [
      ['with two durable commits around it', async (path) => void (await floor.write(path, bodyOf()))],
      ['through the gateway', (path) => sendWrite({ url: rig.gatewayUrl, headers: through, path }, bodyOf())],
    ];
    const partsOf = (floorUrl: string): [string, Write][] => [
      ['straight at the upstream', (path) => sendWrite({ url: rig.cloudUrl, headers: direct, path }, bodyOf())],
      ['with the commits, behind a bare server', (path) => sendWrite({ url: floorUrl, headers: {}, path }, bodyOf())],
    ];
    const ways = explains ? [...compared, ...partsOf(await rig.startFloorServer())] : compared;
    const results = await takeTurns(rig, ways, seconds);
    const [least, ours] = results as [Measured, Measured];
    const rows = results.map(({ what, result, cost }) => [
      what,
      result.p50Ms.toFixed(2),
      result.p99Ms.toFixed(2),
      ...Object.values(cost).map((each) => each.toFixed(2)),
    ]);
    say(table([`write, ${PER_SECOND}/s`, 'p50 ms', 'p99 ms', ...Object.keys(noCost)], rows));
    const times = { unit: 'times' };
    const floorOf = (ms: number) => `${ms.toFixed(1)} ms`;
    const calls = ours.cost['upstream calls'];
    return [
      atMost({
        what: 'a write, p50, of the floor',
        floor: floorOf(least.result.p50Ms),
        value: ours.result.p50Ms / least.result.p50Ms,
        aim: P50_MAX,
        ...times,
      }),
      atMost({
        what: 'a write, p99, of the floor',
        floor: floorOf(least.result.p99Ms),
        value: ours.result.p99Ms / least.result.p99Ms,
        aim: P99_MAX,
        ...times,
      }),
      atMost({ what: 'upstream calls per write', value: Number(calls.toFixed(2)), aim: 1 }),
    ];
  } finally {
    await floor.close();
  }
}

/** Per write, all processes included. */
const noCost = { 'upstream calls': 0, statements: 0, commits: 0, 'CPU ms: gateway': 0, 'CPU ms: Postgres': 0 };
type WriteCost = typeof noCost;

/** Writes to the record set at this path. */
type Write = (path: string) => Promise<void>;

const pathOf = (index: number) => `/zones/${ZONE}/rrsets/w${index % WRITTEN_SETS}.acme/A/actions/set_records`;

async function warmUp(write: Write): Promise<void> {
  let index = 0;
  const keepWriting = async () => {
    while (index < WARM_UP.writes) {
      index += 1;
      await write(pathOf(index));
    }
  };
  await Promise.all(Array.from({ length: WARM_UP.concurrency }, keepWriting));
}

interface Measured {
  readonly what: string;
  /** The middle of the rounds: a disk that stops once in a run would decide the p99 of all writes. */
  readonly result: { readonly p50Ms: number; readonly p99Ms: number };
  readonly cost: WriteCost;
}

async function takeTurns(
  rig: DnsRig,
  ways: readonly (readonly [string, Write])[],
  seconds: number,
): Promise<Measured[]> {
  const measured = ways.map(([what]) => ({ what, p50Ms: [] as number[], p99Ms: [] as number[], cost: { ...noCost } }));
  for (const [, write] of ways) await warmUp(write);
  let writes = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, [, write]] of ways.entries()) {
      const { cost, p50Ms, p99Ms } = measured[at] as (typeof measured)[number];
      await atRate(PER_SECOND, LEAD_IN_SECONDS, (index) => write(pathOf(index)));
      const callsBefore = await rig.upstreamCalls();
      const readCost = await costMeter({ pool: rig.pool, pids: { gateway: [rig.gatewayPid] } });
      const durations = await atRate(PER_SECOND, seconds, (index) => write(pathOf(index)));
      const { statements, commits, cpu } = await readCost();
      p50Ms.push(percentile(durations, 0.5));
      p99Ms.push(percentile(durations, 0.99));
      cost['upstream calls'] += (await rig.upstreamCalls()) - callsBefore;
      cost.statements += statements;
      cost.commits += commits;
      cost['CPU ms: gateway'] += (cpu.gateway ?? 0) * 1_000;
      cost['CPU ms: Postgres'] += (cpu.Postgres ?? 0) * 1_000;
      if (at === 0) writes += durations.length;
    }
  }
  return measured.map(({ what, p50Ms, p99Ms, cost }) => ({
    what,
    result: { p50Ms: median(p50Ms), p99Ms: median(p99Ms) },
    cost: Object.fromEntries(Object.entries(cost).map(([name, sum]) => [name, sum / writes])) as WriteCost,
  }));
}
