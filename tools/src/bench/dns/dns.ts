import {
  bearer,
  type Load,
  plainReadLoad,
  type ReadResult,
  readLoad,
  readLoadOf,
  type WriteResult,
  writeLoad,
} from '../load/load.js';
import { row, say, table } from '../load/report.js';
import { type DnsRig, startDnsRig, ZONE } from './dns-rig.js';
import { createSet, fetchText, fillMirror } from './mirror-rows.js';
import { startPowerDns } from './powerdns.js';

const LISTED_SETS = 25;
const ROUNDS = 3;
const WARM_UP_SECONDS = 3;
const REPLICAS = 3;
const WRITTEN_SETS = 50;

export interface DnsBenchOptions {
  /** The duration of each measurement. */
  readonly seconds: number;
  /** The number of record sets in a large zone. */
  readonly sets: number;
}

/** Compares the gateway with a bare Express route, with PowerDNS and with the upstream itself, in one run on one machine. */
export async function benchDns({ seconds, sets }: DnsBenchOptions): Promise<void> {
  say(`Reads: ${ROUNDS} rounds of ${seconds} s each, taken in turns; writes: 100 per second.`);
  say('Bare Express: a route that sends the same bytes with res.send, and does nothing else.\n');
  const rig = await startDnsRig();
  try {
    await fillMirror(rig, 'other', 1_000);
    await fillMirror(rig, 'acme', LISTED_SETS);
    const paths = { list: `/zones/${ZONE}/rrsets`, get: `/zones/${ZONE}/rrsets/s0.acme/A` };
    await compareReads(rig, paths, seconds);
    await compareWithPowerDns(rig, paths, seconds);
    await compareWrites(rig, seconds);
    await compareSizes(rig, paths, seconds, sets);
    await compareReplicas(rig, paths, seconds);
  } finally {
    await rig.stop();
  }
}

type Paths = { readonly list: string; readonly get: string };
type Read = (seconds: number) => Promise<ReadResult>;

const readOf = (rig: DnsRig, path: string, url = rig.gatewayUrl): Load => ({ url, headers: bearer(rig.token), path });

/** Warms up both, then measures them in turns, so that other load on the machine affects both. */
async function takeTurns(one: Read, other: Read, seconds: number): Promise<[ReadResult, ReadResult]> {
  const results: [ReadResult[], ReadResult[]] = [[], []];
  await one(WARM_UP_SECONDS);
  await other(WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    results[0].push(await one(seconds));
    results[1].push(await other(seconds));
  }
  return [median(results[0]), median(results[1])];
}

async function compareReads(rig: DnsRig, paths: Paths, seconds: number): Promise<void> {
  const bodies: Record<string, string> = {};
  for (const path of Object.values(paths)) bodies[`/v1${path}`] = await fetchText(rig, path);
  const bareUrl = `${await rig.startBareExpress(bodies)}/v1`;
  const callsBefore = await rig.upstreamCalls();
  const rows: string[][] = [];
  for (const [what, path] of Object.entries(paths)) {
    const [bare, ours] = await takeTurns(
      (time) => readLoad(readOf(rig, path, bareUrl), time),
      (time) => readLoad(readOf(rig, path), time),
      seconds,
    );
    rows.push(row(`${what}, bare Express`, bare), row(`${what}, gateway`, ours, ours.perSecond / bare.perSecond));
  }
  say(table(['read', 'req/s', 'p50 ms', 'p99 ms', 'ratio'], rows));
  say(`Upstream calls during all reads: ${(await rig.upstreamCalls()) - callsBefore} (aim: 0)\n`);
}

async function compareWithPowerDns(rig: DnsRig, paths: Paths, seconds: number): Promise<void> {
  const names = Array.from({ length: LISTED_SETS }, (_, index) => `s${index}.acme`);
  const powerDns = await startPowerDns(rig.base, ZONE, names);
  if (powerDns === null) return say('PowerDNS is not installed: no comparison with it.\n');
  const rows: string[][] = [];
  for (const what of ['list', 'get'] as const) {
    const [theirs, ours] = await takeTurns(
      (time) => plainReadLoad(powerDns[what], time),
      (time) => plainReadLoad(readOf(rig, paths[what]), time),
      seconds,
    );
    rows.push(row(`${what}, PowerDNS ${powerDns.version}`, theirs));
    rows.push(row(`${what}, gateway`, ours, ours.perSecond / theirs.perSecond));
  }
  say(table(['the same record sets', 'req/s', 'p50 ms', 'p99 ms', 'ratio'], rows));
  say('Aim: 3 times the reads of PowerDNS.\n');
}

const writesOf = (rig: DnsRig, seconds: number) => ({
  headers: bearer(rig.token),
  perSecond: 100,
  seconds: Math.max(seconds, 5) * 2,
  pathOf: (index: number) => `/zones/${ZONE}/rrsets/w${index % WRITTEN_SETS}.acme/A/actions/set_records`,
  bodyOf: (index: number) =>
    JSON.stringify({ records: [{ value: `192.0.${Math.floor(index / 250) % 250}.${index % 250}` }] }),
});
const writeRow = (what: string, result: WriteResult) => [what, result.p50Ms.toFixed(2), result.p99Ms.toFixed(2)];

async function compareWrites(rig: DnsRig, seconds: number): Promise<void> {
  const load = writesOf(rig, seconds);
  const direct = { ...load, urls: [rig.cloudUrl], headers: bearer(rig.cloudToken) };
  const through = { ...load, urls: [rig.gatewayUrl] };
  for (let index = 0; index < WRITTEN_SETS; index += 1) await createSet(rig, `w${index}.acme`);
  await writeLoad({ ...direct, seconds: 1 });
  await writeLoad({ ...through, seconds: 1 });
  const straight = await writeLoad(direct);
  const callsBefore = await rig.upstreamCalls();
  const ours = await writeLoad(through);
  const perWrite = ((await rig.upstreamCalls()) - callsBefore) / ours.writes;
  const added = { writes: 0, p50Ms: ours.p50Ms - straight.p50Ms, p99Ms: ours.p99Ms - straight.p99Ms };
  say(
    table(
      ['write, 100/s', 'p50 ms', 'p99 ms'],
      [
        writeRow('straight at the upstream', straight),
        writeRow('through the gateway', ours),
        writeRow('added (aim: 3 and 15)', added),
      ],
    ),
  );
  say(`Upstream calls per write: ${perWrite.toFixed(2)} (aim: 1.00)\n`);
}

async function compareSizes(rig: DnsRig, paths: Paths, seconds: number, sets: number): Promise<void> {
  const measure = async (path: string) => {
    const rounds: ReadResult[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await readLoad(readOf(rig, path), seconds));
    return median(rounds);
  };
  const small = { list: await measure(paths.list), get: await measure(paths.get) };
  await fillMirror(rig, 'other', sets);
  const large = { list: await measure(paths.list), get: await measure(paths.get) };
  const rows = (['list', 'get'] as const).flatMap((what) => [
    row(`${what}, 1,000 sets in the zone`, small[what]),
    row(`${what}, ${sets.toLocaleString('en')} sets`, large[what], small[what].perSecond / large[what].perSecond),
  ]);
  say(table(['zone size', 'req/s', 'p50 ms', 'p99 ms', 'growth'], rows));
  say('Aim: no read takes more than 1.2 times as long.\n');
}

/** One gateway on Postgres alone, and replicas that share a Redis. On a small machine they also share its CPU. */
async function compareReplicas(rig: DnsRig, paths: Paths, seconds: number): Promise<void> {
  const replicas = await rig.startReplicas(REPLICAS);
  if (replicas === null) return say('redis-server is not installed: no replicas that share a Redis.\n');
  const rows: string[][] = [];
  for (const [what, path] of Object.entries(paths)) {
    const [one, three] = await takeTurns(
      (time) => readLoad(readOf(rig, path), time),
      (time) =>
        readLoadOf(
          replicas.map((url) => readOf(rig, path, url)),
          time,
        ),
      seconds,
    );
    rows.push(row(`${what}, one gateway`, one));
    rows.push(row(`${what}, ${REPLICAS} with Redis`, three, three.perSecond / one.perSecond));
  }
  say(table(['replicas', 'req/s', 'p50 ms', 'p99 ms', 'ratio'], rows));
  const load = writesOf(rig, seconds);
  await writeLoad({ ...load, urls: replicas, seconds: 1 });
  const one = await writeLoad({ ...load, urls: [rig.gatewayUrl] });
  const three = await writeLoad({ ...load, urls: replicas });
  const writeRows = [writeRow('one gateway', one), writeRow(`${REPLICAS} with Redis`, three)];
  say(table(['write, 100/s', 'p50 ms', 'p99 ms'], writeRows));
}

function median(rounds: readonly ReadResult[]): ReadResult {
  const sorted = [...rounds].sort((one, other) => one.perSecond - other.perSecond);
  return sorted[Math.floor(sorted.length / 2)] as ReadResult;
}
