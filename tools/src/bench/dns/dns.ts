import { middleBy, plainReadLoad, type ReadResult, readLoad } from '../load/load.js';
import { row, say, table } from '../load/report.js';
import { atLeast, atMost, type Verdict } from '../verdicts.js';
import { type DnsRig, type Paths, readOf, startDnsRig, ZONE } from './dns-rig.js';
import { fetchText, fillMirror } from './mirror-rows.js';
import { startPowerDns } from './powerdns.js';
import { compareReplicas } from './replicas.js';
import { compareWrites } from './writes.js';

const LISTED_SETS = 25;
/** Many short ones: what disturbs a machine often lasts a second or two, and the round in the middle counts. */
const ROUNDS = 7;
const WARM_UP_SECONDS = 3;

export interface DnsBenchOptions {
  /** The duration of each round of reads. */
  readonly readSeconds: number;
  /** The duration of each round of writes. */
  readonly writeSeconds: number;
  /** Measures the writes alone. */
  readonly only?: 'writes' | undefined;
  /** Whether what has no aim is measured, too: PowerDNS, and parts of the floor of writes. */
  readonly explains: boolean;
}

/** Compares the gateway with a bare Express route, with PowerDNS and with the upstream itself, in one run on one machine. */
export async function benchDns(options: DnsBenchOptions): Promise<Verdict[]> {
  const { readSeconds, writeSeconds, only, explains } = options;
  say(`Reads: ${ROUNDS} rounds of ${readSeconds} s each, taken in turns; writes: 100 per second.`);
  say('Bare Express: a route that sends the same bytes with res.send, alone or after one prepared statement.\n');
  const rig = await startDnsRig();
  try {
    await fillMirror(rig, 'other', 1_000);
    await fillMirror(rig, 'acme', LISTED_SETS);
    if (only === 'writes') return await compareWrites(rig, { seconds: writeSeconds, explains });
    const paths = { list: `/zones/${ZONE}/rrsets`, get: `/zones/${ZONE}/rrsets/s0.acme/A` };
    const verdicts = await compareReads(rig, paths, readSeconds);
    if (explains) await compareWithPowerDns(rig, paths, readSeconds);
    verdicts.push(...(await compareWrites(rig, { seconds: writeSeconds, explains })));
    verdicts.push(...(await compareReplicas(rig, paths)));
    return verdicts;
  } finally {
    await rig.stop();
  }
}

type Read = (seconds: number) => Promise<ReadResult>;

/** Warms up all, then measures them in turns, so that other load on the machine affects all. */
async function takeTurns(reads: readonly Read[], seconds: number): Promise<ReadResult[]> {
  const results: ReadResult[][] = reads.map(() => []);
  for (const read of reads) await read(WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, read] of reads.entries()) results[at]?.push(await read(seconds));
  }
  return results.map((rounds) => middleBy(rounds, ({ perSecond }) => perSecond));
}

async function compareReads(rig: DnsRig, paths: Paths, seconds: number): Promise<Verdict[]> {
  const bodies: Record<string, string> = {};
  for (const path of Object.values(paths)) bodies[path] = await fetchText(rig, path);
  const floorUrl = await rig.startBareExpress(bodies);
  const callsBefore = await rig.upstreamCalls();
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  for (const [what, path] of Object.entries(paths)) {
    const urls = [`${floorUrl}/bare`, `${floorUrl}/v1`, rig.gatewayUrl];
    const reads = urls.map(
      (url): Read =>
        (time) =>
          readLoad(readOf(rig, path, url), { seconds: time }),
    );
    const [bare, asking, ours] = (await takeTurns(reads, seconds)) as [ReadResult, ReadResult, ReadResult];
    rows.push(row(`${what}, bare Express`, bare), row(`${what}, with one statement`, asking));
    rows.push(row(`${what}, gateway`, ours, ours.perSecond / bare.perSecond));
    for (const [of, floor, aim] of [
      ['a bare route', bare, OF_BARE_MIN],
      ['one with a statement', asking, OF_ASKING_MIN],
    ] as const) {
      const value = ours.perSecond / floor.perSecond;
      verdicts.push(
        atLeast({ what: `${what}s of record sets, of ${of}`, floor: `${floor.perSecond.toFixed(0)}/s`, value, aim }),
      );
    }
  }
  say(table(['read', 'req/s', 'p50 ms', 'p99 ms', 'ratio'], rows));
  const calls = (await rig.upstreamCalls()) - callsBefore;
  return [...verdicts, atMost({ what: 'upstream calls of all reads', value: calls, aim: 0 })];
}

const OF_BARE_MIN = 0.75;
const OF_ASKING_MIN = 0.92;

async function compareWithPowerDns(rig: DnsRig, paths: Paths, seconds: number): Promise<void> {
  const names = Array.from({ length: LISTED_SETS }, (_, index) => `s${index}.acme`);
  const powerDns = await startPowerDns(rig.base, ZONE, names);
  if (powerDns === null) return say('PowerDNS is not installed: no comparison with it.\n');
  const rows: string[][] = [];
  for (const what of ['list', 'get'] as const) {
    const reads = [powerDns[what], readOf(rig, paths[what])].map(
      (load): Read =>
        (time) =>
          plainReadLoad(load, time),
    );
    const [theirs, ours] = (await takeTurns(reads, seconds)) as [ReadResult, ReadResult];
    rows.push(row(`${what}, PowerDNS ${powerDns.version}`, theirs));
    rows.push(row(`${what}, gateway`, ours, ours.perSecond / theirs.perSecond));
  }
  say(table(['the same record sets', 'req/s', 'p50 ms', 'p99 ms', 'ratio'], rows));
  say('Aim: 3 times the reads of PowerDNS.\n');
}
