import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@corral/testing';
import type { Program } from '../system/program.js';
import type { System } from '../system/start-system.js';

/** What a process holds after garbage collection. */
export interface Holdings {
  /** A size in bytes. */
  readonly rss: number;
  /** A size in bytes. */
  readonly heapUsed: number;
  /** Open TCP connections and listening sockets. */
  readonly sockets: number;
}

/** Options for the Node.js of a program whose holdings are measured. */
export const REPORTS_HOLDINGS = ['--import', fileURLToPath(new URL('report-memory.mjs', import.meta.url))] as const;

/** Makes a program that was started with `REPORTS_HOLDINGS` collect its garbage and report what is left. */
async function readHoldings({ pid, name, output }: Program): Promise<Holdings> {
  const reports = (): Holdings[] =>
    output()
      .split('\n')
      .filter((line) => line.startsWith('{"holds"'))
      .map((line) => (JSON.parse(line) as { holds: Holdings }).holds);
  const before = reports().length;
  process.kill(pid, 'SIGUSR2');
  await waitFor(`${name} to report what it holds`, () => reports().length > before);
  return reports().at(-1) as Holdings;
}

/** The numbers of open connections, which change all the time. */
export interface Connections {
  /** The sockets of one process. */
  readonly sockets: number;
  /** The connections to Postgres of all processes. */
  readonly connections: number;
}

const readConnections = async (program: Program, system: System): Promise<Connections> => ({
  sockets: (await readHoldings(program)).sockets,
  connections: await countConnections(system),
});

/** How long a pool keeps an unused connection. */
const POOL_IDLE_MS = 11_000;
const READINGS = 10;

/** The largest number of open connections while there are no requests. */
export async function readIdleConnections(program: Program, system: System): Promise<Connections> {
  await pause(POOL_IDLE_MS);
  let most = await readConnections(program, system);
  for (let reading = 1; reading < READINGS; reading += 1) {
    const now = await readConnections(program, system);
    const [sockets, connections] = [Math.max(now.sockets, most.sockets), Math.max(now.connections, most.connections)];
    most = { sockets, connections };
    await pause(POOL_IDLE_MS / 5 / READINGS);
  }
  return most;
}

/** The connections of all processes to Postgres, without ours. */
async function countConnections({ pool }: System): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name <> 'system test'`,
  );
  return rows[0]?.count ?? 0;
}

/** Waits until the connections that were opened for the load are closed again. */
export const untilIdle = (program: Program, system: System, idle: Connections): Promise<Connections> =>
  waitFor('the connections to be as few as before the load', async () => {
    const now = await readConnections(program, system);
    if (now.sockets <= idle.sockets && now.connections <= idle.connections) return now;
    throw new Error(JSON.stringify({ now, idle }));
  });

const SAMPLE_EVERY_MS = 4_000;

/** Measures what a program holds at intervals, until the run is over. */
export async function sampleHoldings(program: Program, samples: Holdings[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    samples.push(await readHoldings(program));
    await pause(SAMPLE_EVERY_MS);
  }
}

/** A size in bytes. */
export interface Growth {
  readonly heap: number;
  readonly rss: number;
}

/** How much more a program held in the last third of the time than in the first. */
export const growthOf = (samples: readonly Holdings[]): Growth => {
  const of = (kind: 'heapUsed' | 'rss'): number => {
    const values = samples.map((sample) => sample[kind]);
    return medianOfThird(values, 2) - medianOfThird(values, 0);
  };
  return { heap: of('heapUsed'), rss: of('rss') };
};

/** The median of the values in one third of all: 0 for the first, 2 for the last. */
function medianOfThird(values: readonly number[], third: 0 | 1 | 2): number {
  const length = values.length / 3;
  const own = values.slice(Math.floor(third * length), Math.floor((third + 1) * length)).sort((a, b) => a - b);
  return own[Math.floor(own.length / 2)] ?? Number.NaN;
}
