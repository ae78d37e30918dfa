import { type DnsRig, startDnsRig, ZONE } from './dns-rig.js';
import { type ReadResult, readLoad, type WriteResult, writeLoad } from './load.js';
import { row, table } from './report.js';

const say = (line: string) => console.log(line);
const LISTED_SETS = 25;
const ROUNDS = 3;
const WARM_UP_SECONDS = 3;

export interface DnsBenchOptions {
  /** Of each measurement. */
  readonly seconds: number;
  /** Record sets in the zone when it is large. */
  readonly sets: number;
}

/** Compares the gateway with a bare Express route and with the upstream itself, in one run on one machine. */
export async function benchDns({ seconds, sets }: DnsBenchOptions): Promise<void> {
  say(`Reads: ${ROUNDS} rounds of ${seconds} s each, taken in turns; writes: 100 per second.`);
  say('Bare Express: a route that sends the same bytes with res.send, and does nothing else.\n');
  const rig = await startDnsRig();
  try {
    await fillMirror(rig, 'other', 1_000);
    await fillMirror(rig, 'acme', LISTED_SETS);
    const paths = { list: `/zones/${ZONE}/rrsets`, get: `/zones/${ZONE}/rrsets/s0.acme/A` };
    await compareReads(rig, paths, seconds);
    await compareWrites(rig, seconds);
    await compareSizes(rig, paths, seconds, sets);
  } finally {
    await rig.stop();
  }
}

type Paths = { readonly list: string; readonly get: string };

async function compareReads(rig: DnsRig, paths: Paths, seconds: number): Promise<void> {
  const bodies: Record<string, string> = {};
  for (const path of Object.values(paths)) bodies[`/v1${path}`] = await fetchText(rig, path);
  const bareUrl = `${await rig.startBareExpress(bodies)}/v1`;
  const callsBefore = await rig.upstreamCalls();
  const rows: string[][] = [];
  for (const [what, path] of Object.entries(paths)) {
    const bare: ReadResult[] = [];
    const gateway: ReadResult[] = [];
    await readLoad({ url: bareUrl, token: rig.token, path }, WARM_UP_SECONDS);
    await readLoad({ url: rig.gatewayUrl, token: rig.token, path }, WARM_UP_SECONDS);
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(await readLoad({ url: bareUrl, token: rig.token, path }, seconds));
      gateway.push(await readLoad({ url: rig.gatewayUrl, token: rig.token, path }, seconds));
    }
    const [best, ours] = [median(bare), median(gateway)];
    rows.push(row(`${what}, bare Express`, best), row(`${what}, gateway`, ours, ours.perSecond / best.perSecond));
  }
  say(table(['read', 'req/s', 'p50 ms', 'p99 ms', 'ratio'], rows));
  say(`Upstream calls during all reads: ${(await rig.upstreamCalls()) - callsBefore} (aim: 0)\n`);
}

async function compareWrites(rig: DnsRig, seconds: number): Promise<void> {
  const load = {
    path: '',
    perSecond: 100,
    seconds: Math.max(seconds, 5) * 2,
    pathOf: (index: number) => `/zones/${ZONE}/rrsets/w${index % 50}.acme/A/actions/set_records`,
    bodyOf: (index: number) =>
      JSON.stringify({ records: [{ value: `192.0.${Math.floor(index / 250) % 250}.${index % 250}` }] }),
  };
  const direct = { ...load, url: rig.cloudUrl, token: rig.cloudToken };
  const through = { ...load, url: rig.gatewayUrl, token: rig.token };
  for (let index = 0; index < 50; index += 1) await createSet(rig, `w${index}.acme`);
  await writeLoad({ ...direct, seconds: 1 });
  await writeLoad({ ...through, seconds: 1 });
  const straight = await writeLoad(direct);
  const callsBefore = await rig.upstreamCalls();
  const ours = await writeLoad(through);
  const perWrite = ((await rig.upstreamCalls()) - callsBefore) / ours.writes;
  const writeRow = (what: string, result: WriteResult) => [what, result.p50Ms.toFixed(2), result.p99Ms.toFixed(2)];
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
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push(await readLoad({ url: rig.gatewayUrl, token: rig.token, path }, seconds));
    }
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
  say('Aim: no read takes more than 1.2 times as long.');
}

/** Rows as a zone sync would leave them. */
async function fillMirror({ pool, zoneId }: DnsRig, owner: string, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     SELECT $1, name, 'A', $2, 1,
            json_build_object('id', name || '/A', 'name', name, 'type', 'A', 'ttl', 300, 'labels', json_build_object(),
                              'protection', json_build_object('change', false),
                              'records', json_build_array(json_build_object('value', '192.0.2.1', 'comment', '')),
                              'zone', $1::bigint)::text
     FROM (SELECT 's' || n || '.' || $2 AS name FROM generate_series(0, $3::int - 1) AS n) AS names
     ON CONFLICT DO NOTHING`,
    [zoneId, owner, count],
  );
  // As autovacuum does in service, only at once.
  await pool.query('VACUUM ANALYZE dns_rrset');
}

async function createSet({ gatewayUrl, token }: DnsRig, name: string): Promise<void> {
  const response = await fetch(`${gatewayUrl}/zones/${ZONE}/rrsets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, type: 'A', records: [{ value: '192.0.2.1' }] }),
  });
  if (response.status !== 201) throw new Error(`A set could not be created: ${await response.text()}`);
}

async function fetchText({ gatewayUrl, token }: DnsRig, path: string): Promise<string> {
  const response = await fetch(`${gatewayUrl}${path}`, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
  return response.text();
}

function median(rounds: readonly ReadResult[]): ReadResult {
  const sorted = [...rounds].sort((one, other) => one.perSecond - other.perSecond);
  return sorted[Math.floor(sorted.length / 2)] as ReadResult;
}
