import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@corral/testing';
import { say, table } from '../load/report.js';
import { atMost, type Verdict } from '../verdicts.js';
import type { ClusterRig } from './cluster-rig.js';
import { costMeter, uncounted } from './cost-meter.js';

const MINUTE_MS = 60_000;
/** The aim for each process, in percent of a core. */
const IDLE_SHARE = 1;
/** The cluster that is copied. */
const MODEL = 'c0';
/** Between two lists of all Shoots: a thirtieth of the default. */
export const RELIST_MS = 20_000;

export interface SteadyOptions {
  /** The number of steady clusters in the last part. */
  readonly clusters: number;
  /** How long they are left alone before. In a minute, processes end what they have planned, and V8 gives memory back. */
  readonly settleSeconds: number;
  /** How long they are left alone. */
  readonly seconds: number;
}

/** Lets two reconcilers make clusters, and measures what these cost when nothing changes. */
export async function measureSteady(rig: ClusterRig, options: SteadyOptions): Promise<Verdict[]> {
  const { clusters, settleSeconds, seconds } = options;
  await rig.stopReconcilers();
  await rig.startReconcilers(2);
  await makeClusters(rig, clusters);
  await pause(settleSeconds * 1_000);
  const many = clusters.toLocaleString('en');
  await rig.resetCalls();
  const { reconcilers = [], ...others } = rig.pids();
  const each = reconcilers.map((pid, at) => [`reconciler ${at + 1}`, [pid]] as const);
  const readCost = await costMeter({ pool: rig.pool, pids: { ...others, ...Object.fromEntries(each) } });
  await pause(seconds * 1_000);
  const { cpu, statements } = await readCost();
  const rest = await otherCalls(rig, options);
  const memory = Object.entries(await rig.memory()).map(([name, mebibytes]) => [name, String(mebibytes)]);
  say(table([`memory at ${many} clusters`, 'MiB'], memory));
  const share = (part: string) => ((cpu[part] ?? 0) / seconds) * 100;
  const used = Object.keys(cpu).map((part) => `${part} ${share(part).toFixed(2)} %`);
  say(
    `CPU time meanwhile, of a core: ${used.join(', ')}; ${(statements / seconds).toFixed(1)} statements per second.\n`,
  );
  const busiest = Math.max(...each.map(([name]) => share(name)));
  const steady = `${many} steady clusters`;
  return [
    atMost({ what: `calls to the garden for ${steady}`, value: rest, aim: 0 }),
    atMost({ what: `CPU of the busiest reconciler with ${steady}`, value: busiest, aim: IDLE_SHARE, unit: '%' }),
    atMost({ what: `CPU of a cluster API with ${steady}`, value: share('cluster API'), aim: IDLE_SHARE, unit: '%' }),
  ];
}

/** Until there are as many, and all have converged. */
async function makeClusters(rig: ClusterRig, clusters: number): Promise<void> {
  const { rows } = await rig.pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM cluster ${uncounted}`);
  const missing = clusters - (rows[0]?.count ?? 0);
  const startedAt = performance.now();
  await insertClusters(rig, missing);
  await untilConverged(rig, 60 * MINUTE_MS);
  const seconds = (performance.now() - startedAt) / 1_000;
  say(`${missing.toLocaleString('en')} clusters made by 2 workers: ${(missing / seconds).toFixed(0)} per second.`);
  await untilCounted(rig);
}

/** The calls that the garden got, except lists and watches. */
async function otherCalls(rig: ClusterRig, { clusters, seconds }: SteadyOptions): Promise<number> {
  const calls = await rig.gardenCalls();
  const count = (pattern: RegExp) =>
    Object.entries(calls).reduce((sum, [key, times]) => (pattern.test(key) ? sum + times : sum), 0);
  const lists = count(/GET \/apis\/core.gardener.cloud\/v1beta1\/shoots$/);
  const watches = count(/WATCH /);
  const relists = Math.floor((seconds * 1_000) / RELIST_MS);
  const rest = Object.values(calls).reduce((sum, times) => sum + times, 0) - lists - watches;
  say(
    table(
      [`steady for ${seconds} s, a list each ${RELIST_MS / 1_000} s`, 'calls', 'aim at most'],
      [
        ['list calls', String(lists), String((relists + 1) * Math.ceil(clusters / 500))],
        ['watches', String(watches), ''],
        ['all other calls, the catalogue included', String(rest), ''],
      ],
    ),
  );
  return rest;
}

/**
 * Copies one cluster, as accepted changes would leave the copies: due immediately. Their Shoots are numbered: of 10,000 random
 * names, two are the same in one of six runs.
 */
export async function insertClusters({ pool }: Pick<ClusterRig, 'pool'>, count: number): Promise<void> {
  await pool.query(
    `WITH model AS (SELECT * FROM cluster WHERE name = $1),
     made AS (
       INSERT INTO cluster (team_id, name, shoot_name, connection_id, spec, desired_hash, phase, conditions, due_at)
       SELECT team_id, 's' || n, 'c' || lpad(to_hex(n), 7, '0'), connection_id, spec, desired_hash, 'Pending', '[]', now()
       FROM model, generate_series(1, $2::int) AS n
       RETURNING id, team_id
     )
     INSERT INTO node_pool (team_id, cluster_id, name, position, source, machine_type, image, minimum, maximum, public_ip)
     SELECT made.team_id, made.id, pool.name, pool.position, pool.source, pool.machine_type, pool.image, pool.minimum,
            pool.maximum, pool.public_ip
     FROM made, model JOIN node_pool pool ON pool.cluster_id = model.id`,
    [MODEL, count],
  );
  await pool.query('ANALYZE cluster, node_pool');
}

export async function untilConverged({ pool }: Pick<ClusterRig, 'pool'>, timeoutMs = 5 * MINUTE_MS): Promise<void> {
  await waitFor(
    'every cluster to converge',
    async () => {
      const { rows } = await pool.query<{ open: number }>(
        `SELECT count(*)::int AS open FROM cluster
         WHERE observed_generation < generation OR due_at IS NOT NULL ${uncounted}`,
      );
      return rows[0]?.open === 0;
    },
    { timeoutMs },
  );
}

/** Nodes are counted 2 s after a change, which is not to be measured along with the next one. */
export async function putOffCounts({ pool }: ClusterRig): Promise<void> {
  await pool.query(`UPDATE cluster SET nodes_due_at = now() + interval '1 hour' ${uncounted}`);
}

/** A cluster whose nodes are still to be counted is not steady. */
async function untilCounted({ pool }: ClusterRig): Promise<void> {
  await waitFor(
    'the nodes of every cluster to be counted',
    async () => {
      const { rows } = await pool.query<{ due: number }>(
        `SELECT count(*)::int AS due FROM cluster WHERE nodes_due_at <= now() + interval '1 minute' ${uncounted}`,
      );
      return rows[0]?.due === 0;
    },
    { timeoutMs: 60 * MINUTE_MS },
  );
}
