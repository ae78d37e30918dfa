import { costMeter } from '../clusters/cost-meter.js';
import { median, readLoad } from '../load/load.js';
import { say, table } from '../load/report.js';
import { atMost, type Verdict } from '../verdicts.js';
import { type DnsRig, type Paths, readOf } from './dns-rig.js';

const REPLICAS = [1, 2, 4];

/**
 * What a request costs with one, two and four gateways that share a Redis. Each gets the same load, as when replicas are added because
 * there is more of it, and all together less than the machine can do: without a pause they would share its cores, and how many requests
 * meet in a turn, and share a statement, would depend on that.
 */
export async function compareReplicas(rig: DnsRig, paths: Paths): Promise<Verdict[]> {
  const replicas = await rig.startReplicas(Math.max(...REPLICAS));
  if (replicas === null) {
    say('redis-server is not installed: no replicas that share a Redis.\n');
    return [];
  }
  const rows: string[][] = [];
  const verdicts: Verdict[] = [];
  const measure = async (path: string, count: number): Promise<RequestCost> => {
    const loads = replicas.urls.slice(0, count).map((url) => readOf(rig, path, url));
    const redisBefore = await replicas.redisCommands();
    const readCost = await costMeter({ pool: rig.pool, pids: { gateways: replicas.pids } });
    const results = await Promise.all(loads.map((load) => readLoad(load, REPLICA_SECONDS, REPLICA_RATE)));
    const { statements, cpu } = await readCost();
    const perSecond = results.reduce((sum, result) => sum + result.perSecond, 0);
    const requests = perSecond * REPLICA_SECONDS;
    const redis = ((await replicas.redisCommands()) - redisBefore) / requests;
    return { perSecond, statements: statements / requests, redis, cpuMs: ((cpu.gateways ?? 0) * 1_000) / requests };
  };
  for (const [what, path] of Object.entries(paths)) {
    await Promise.all(replicas.urls.map((url) => readLoad(readOf(rig, path, url), WARM_UP_SECONDS)));
    const measured = REPLICAS.map(() => [] as RequestCost[]);
    // In turns, so that what else the machine does affects all of them.
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [at, count] of REPLICAS.entries()) measured[at]?.push(await measure(path, count));
    }
    const costs = measured.map(middleOf);
    for (const [at, { perSecond, statements, redis, cpuMs }] of costs.entries()) {
      const numbers = [statements, redis, cpuMs].map((each) => each.toFixed(3));
      rows.push([`${what}, ${REPLICAS[at]}`, perSecond.toFixed(0), ...numbers]);
    }
    const [one, most] = [costs[0] as RequestCost, costs.at(-1) as RequestCost];
    for (const [part, key] of [
      ['statements and Redis commands', (cost: RequestCost) => cost.statements + cost.redis],
      ['CPU time', (cost: RequestCost) => cost.cpuMs],
    ] as const) {
      const value = key(most) / key(one);
      const about = `${part} of a ${what} at ${REPLICAS.at(-1)} replicas, of one`;
      verdicts.push(atMost({ what: about, floor: key(one).toFixed(3), value, aim: REPLICA_GROWTH_MAX, unit: 'times' }));
    }
  }
  say(table(['replicas with Redis', 'req/s', 'statements', 'Redis commands', 'CPU ms'], rows));
  return verdicts;
}

/** What one request costs all replicas together. */
interface RequestCost {
  /** Of all replicas. */
  readonly perSecond: number;
  readonly statements: number;
  readonly redis: number;
  readonly cpuMs: number;
}

/** The middle of each number. */
const middleOf = (costs: readonly RequestCost[]): RequestCost => ({
  perSecond: median(costs.map(({ perSecond }) => perSecond)),
  statements: median(costs.map(({ statements }) => statements)),
  redis: median(costs.map(({ redis }) => redis)),
  cpuMs: median(costs.map(({ cpuMs }) => cpuMs)),
});

/** Of all replicas at once, which share the cores. */
const WARM_UP_SECONDS = 5;
const ROUNDS = 3;
const REPLICA_SECONDS = 2;
/** Requests per second to each. */
const REPLICA_RATE = 500;
/** Does not grow, within what two runs of the same differ by. */
const REPLICA_GROWTH_MAX = 1.1;
