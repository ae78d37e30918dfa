import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from '@corral/database';
import { watchGarden } from './garden-watch.js';
import { DIRECT_ZONE, type Installation } from './installation.js';
import { play, type Served } from './play.js';
import { measureCpu, measureMachine, memoryOf } from './processes.js';
import type { Aim } from './report.js';
import { CHANGE, envelope, READS, UPSTREAM, WRITE } from './requests.js';
import { slugOf } from './sizes.js';

interface Row extends Served {
  readonly what: string;
  /** Aim of the p95. Null where nothing is aimed at. */
  readonly aimMs: number | null;
}

interface Process {
  readonly name: string;
  /** Percent of a core, before and under the load. */
  readonly quiet: number;
  readonly busy: number;
  readonly memoryMiB: number;
  /** Aim of the quiet process. Null for what is not ours. */
  readonly aim: number | null;
}

export interface Measured {
  readonly rows: readonly Row[];
  readonly processes: readonly Process[];
  /** What other programs used under the load, the load script included, in percent of all cores. */
  readonly others: number;
  readonly aims: readonly Aim[];
}

const [READ_MS, CHANGE_MS, WRITE_MORE_MS, GARDEN_MS, QUIET_PERCENT] = [25, 100, 30, 250, 1];
/** Time for what a start has left, and for code that is not compiled yet. */
const [SETTLE_MS, WARM_UP_SECONDS] = [30_000, 60];
const QUIET_MS = 30_000;
/** The last change arrives in the garden within this time. */
const REST_MS = 3_000;

/** Lets the installation rest, then plays the envelope. @param seconds for how long */
export async function measure(installation: Installation, seconds: number): Promise<Measured> {
  const { rig, gateways, api, reconciler, cloud, redis } = installation;
  const ours = {
    ...Object.fromEntries(gateways.map(({ process }, at) => [`DNS gateway ${at + 1}`, process.pid])),
    'cluster API': api.process.pid,
    reconciler: reconciler.process.pid,
  };
  const pids = {
    ...ours,
    Postgres: rig.postgresPid,
    ...(redis?.pid ? { Redis: redis.pid } : {}),
    'the imitated upstream and garden': cloud.pid,
  };
  await pause(SETTLE_MS);
  const readQuiet = measureCpu(pids);
  await pause(QUIET_MS);
  const quiet = readQuiet();

  await createDirectSet(installation);
  const maximum = await nextMaximum(rig.pool);
  await play(envelope(installation, maximum), WARM_UP_SECONDS);
  const garden = await watchGarden(cloud.kubeconfigPath);
  const kinds = envelope(installation, maximum + 1);
  const readMachine = measureMachine();
  const readBusy = measureCpu(pids);
  const served = await play(
    { ...kinds, [CHANGE]: { ...(kinds[CHANGE] as (typeof kinds)[string]), onAnswer: garden.accepted } },
    seconds,
  );
  const busy = readBusy();
  const ofProcesses = Object.values(busy).reduce((sum, percent) => sum + percent, 0) / availableParallelism();
  const others = Math.max(0, readMachine() - ofProcesses);
  await pause(REST_MS);
  const arrived = await garden.end();

  const of = (what: string): Served => served[what] as Served;
  const row = (what: string, aimMs: number | null): Row => ({ what, ...of(what), aimMs });
  const rows = [
    ...Object.keys(READS).map((what) => row(what, READ_MS)),
    row(CHANGE, CHANGE_MS),
    {
      ...of(CHANGE),
      ...arrived,
      what: 'from its answer to the garden',
      refused: arrived.missing,
      reasons: arrived.missing === 0 ? {} : { 'not seen in the garden': arrived.missing },
      aimMs: GARDEN_MS,
    },
    row(WRITE, of(UPSTREAM).p95Ms + WRITE_MORE_MS),
    row(UPSTREAM, null),
  ];
  const processes = Object.entries(pids).map(([name, pid]) => ({
    name,
    quiet: quiet[name] as number,
    busy: busy[name] as number,
    memoryMiB: memoryOf(pid),
    aim: name in ours ? QUIET_PERCENT : null,
  }));
  return {
    rows,
    processes,
    others,
    aims: [
      ...rows.flatMap(({ what, p95Ms, aimMs }) =>
        aimMs === null ? [] : [{ what: `p95: ${what}`, value: p95Ms, bound: aimMs }],
      ),
      { what: 'refusals', value: rows.reduce((sum, { refused }) => sum + refused, 0), bound: 0 },
      ...processes.flatMap(({ name, quiet: value, aim }) =>
        aim === null ? [] : [{ what: `quiet: ${name}`, value, bound: aim }],
      ),
    ],
  };
}

const [LOWEST, HIGHEST] = [4, 40];

/** A size that the pools of the clusters which are changed first do not have, and neither the next one. */
async function nextMaximum(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ maximum: number }>(
    `SELECT maximum FROM node_pool JOIN cluster ON cluster.id = cluster_id JOIN team ON team.id = cluster.team_id
     WHERE team.slug = $1 AND cluster.name = 'c0'`,
    [slugOf(0)],
  );
  const before = rows[0]?.maximum ?? HIGHEST;
  return before >= HIGHEST ? LOWEST : before + 1;
}

async function createDirectSet({ cloud }: Installation): Promise<void> {
  const url = `${cloud.adminUrl}/rrsets/${DIRECT_ZONE}/www/A`;
  const body = JSON.stringify({ records: [{ value: '192.0.2.1' }] });
  const { ok, status } = await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/json' }, body });
  if (!ok) throw new Error(`The set for writes to the upstream was not made: ${status}`);
}
