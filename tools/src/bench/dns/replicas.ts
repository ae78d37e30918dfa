import { readLoad } from '../load/load.js';
import { say, table } from '../load/report.js';
import { atMost, type Verdict } from '../verdicts.js';
import { type DnsRig, type Paths, type Replicas, type ReplicasUse, readOf } from './dns-rig.js';

const REPLICAS = [1, 2, 4];

/**
 * What a request costs one gateway, two and four that share a Redis. Each gets the same load, as when replicas are added because there is
 * more of it. All groups are measured at the same time, each with a Redis of its own, and do less together than the machine can: so they
 * share its cores and caches, and whatever else it does, alike, and only the number of gateways differs.
 */
export async function compareReplicas(rig: DnsRig, paths: Paths): Promise<Verdict[]> {
  const groups: Replicas[] = [];
  for (const count of REPLICAS) {
    const replicas = await rig.startReplicas(count);
    if (replicas === null) {
      say('redis-server is not installed: no replicas that share a Redis.\n');
      return [];
    }
    groups.push(replicas);
  }
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  for (const [what, path] of Object.entries(paths)) {
    const readAll = (seconds: number) => Promise.all(groups.map((group) => readFrom(rig, group, path, seconds)));
    await readAll(WARM_UP_SECONDS);
    const costs = await readAll(SECONDS);
    for (const [at, { requests, statements, redisRoundTrips, cpuSeconds }] of costs.entries()) {
      const numbers = [statements, redisRoundTrips, cpuSeconds * 1_000].map((each) => (each / requests).toFixed(3));
      rows.push([`${what}, ${REPLICAS[at]}`, (requests / SECONDS).toFixed(0), ...numbers]);
    }
    for (const [part, costOf] of [
      [
        'statements and round trips to Redis',
        (cost: LoadCost) => (cost.statements + cost.redisRoundTrips) / cost.requests,
      ],
      ['CPU time', (cost: LoadCost) => (cost.cpuSeconds * 1_000) / cost.requests],
    ] as const) {
      const [one, most] = [costs[0], costs.at(-1)].map((cost) => costOf(cost as LoadCost)) as [number, number];
      const about = `${part} of a ${what} at ${REPLICAS.at(-1)} replicas, of one`;
      verdicts.push(
        atMost({ what: about, floor: one.toFixed(3), value: most / one, aim: REPLICA_GROWTH_MAX, unit: 'times' }),
      );
    }
  }
  say(table(['replicas with Redis', 'req/s', 'statements', 'Redis round trips', 'CPU ms'], rows));
  return verdicts;
}

/** What all requests of a group have cost it. */
interface LoadCost extends ReplicasUse {
  readonly requests: number;
}

/** Sends reads to each gateway of the group, as many per second to each. */
async function readFrom(rig: DnsRig, { urls, readUse }: Replicas, path: string, seconds: number): Promise<LoadCost> {
  const before = await readUse();
  const results = await Promise.all(urls.map((url) => readLoad(readOf(rig, path, url), { seconds, ...RATE })));
  const after = await readUse();
  return {
    requests: results.reduce((sum, { reads }) => sum + reads, 0),
    statements: after.statements - before.statements,
    redisRoundTrips: after.redisRoundTrips - before.redisRoundTrips,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
  };
}

const WARM_UP_SECONDS = 6;
const SECONDS = 12;
/** Requests to each gateway, 1,750 per second in all. On one connection: how many share a statement otherwise is chance. */
const RATE = { perSecond: 250, connections: 1 };
/** Does not grow, within what two runs of the same differ by. */
const REPLICA_GROWTH_MAX = 1.1;
