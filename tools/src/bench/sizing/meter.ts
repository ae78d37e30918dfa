import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Pool } from '@corral/database';
import { residentMiB } from '../clusters/cluster-rig.js';
import { membersOf } from '../load/cpu-shares.js';

/** The parts of an installation, in the order of the tables. */
export const parts = ['DNS gateway', 'cluster API', 'reconciler', 'Postgres', 'Redis'] as const;
export type Part = (typeof parts)[number];
export type PerPart = Readonly<Record<Part, number>>;

/** What the parts used during one stage. */
export interface Used {
  readonly seconds: number;
  readonly cpuSeconds: PerPart;
  /** The highest of samples, in MiB. Memory that processes of Postgres share counts once. */
  readonly memoryMiB: PerPart;
  /** The highest number of connections that each service had open. */
  readonly toPostgres: PerPart;
  readonly toRedis: PerPart;
  /** Bytes that Postgres wrote to its log, and by which its files grew. */
  readonly logBytes: number;
  readonly growthBytes: number;
}

export interface MeterOptions {
  readonly pool: Pool;
  /** The main process of each part. */
  readonly pids: PerPart;
  readonly postgresPort: number;
  readonly redisPort: number;
}

const SAMPLE_MS = 500;
/** The kernel of Linux states CPU time in hundredths of a second on all processors that Node.js supports. */
const TICKS_PER_SECOND = 100;

const perPart = (measure: (part: Part) => number): PerPart =>
  Object.fromEntries(parts.map((part) => [part, measure(part)])) as PerPart;

/** Measures what the parts use while `act` runs, as Linux and Postgres count it. */
export async function meter(options: MeterOptions, act: () => Promise<void>): Promise<Used> {
  const { pids } = options;
  const readCpu = () => perPart((part) => cpuSecondsOf(pids[part]));
  const samples = [sample(options)];
  const before = { cpu: readCpu(), database: await readDatabase(options.pool), at: performance.now() };
  const timer = setInterval(() => samples.push(sample(options)), SAMPLE_MS);
  try {
    await act();
  } finally {
    clearInterval(timer);
  }
  const seconds = (performance.now() - before.at) / 1_000;
  const cpu = readCpu();
  samples.push(sample(options));
  const database = await readDatabase(options.pool);
  const highest = (kind: keyof Sample) => perPart((part) => Math.max(...samples.map((each) => each[kind][part])));
  return {
    seconds,
    cpuSeconds: perPart((part) => cpu[part] - before.cpu[part]),
    memoryMiB: highest('memory'),
    toPostgres: highest('toPostgres'),
    toRedis: highest('toRedis'),
    logBytes: database.logged - before.database.logged,
    growthBytes: database.size - before.database.size,
  };
}

interface Sample {
  readonly memory: PerPart;
  readonly toPostgres: PerPart;
  readonly toRedis: PerPart;
}

function sample({ pids, postgresPort, redisPort }: MeterOptions): Sample {
  const peers = perPeerOf();
  const connections = (port: number) => perPart((part) => countSockets(pids[part], peers.get(port) ?? new Set()));
  return {
    memory: perPart((part) => (part === 'Postgres' ? proportionalMiB(pids[part]) : residentMiB(pids[part]))),
    toPostgres: connections(postgresPort),
    toRedis: connections(redisPort),
  };
}

/** Includes connections of Postgres that have ended, so that none takes its time away. */
export const cpuSecondsOf = (main: number): number =>
  membersOf([main]).reduce((sum, { pid, ticks, endedTicks }) => sum + ticks + (pid === main ? endedTicks : 0), 0) /
  TICKS_PER_SECOND;

/** Memory of a process and its children, in MiB: of what several map, each counts its part. */
function proportionalMiB(parent: number): number {
  const kilobytes = membersOf([parent]).map(({ pid }) => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
    } catch {
      return 0; // ended meanwhile
    }
  });
  return Math.round(kilobytes.reduce((sum, each) => sum + each, 0) / 1024);
}

const ESTABLISHED = '01';

/** The inodes of open TCP sockets by the port of their peer. */
function perPeerOf(): Map<number, Set<string>> {
  const found = new Map<number, Set<string>>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(file, 'utf8').trim().split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      const [peer = '', state, inode = ''] = [fields[2], fields[3], fields[9]];
      if (state !== ESTABLISHED) continue;
      const port = Number.parseInt(peer.slice(peer.lastIndexOf(':') + 1), 16);
      found.set(port, (found.get(port) ?? new Set()).add(inode));
    }
  }
  return found;
}

function countSockets(pid: number, inodes: ReadonlySet<string>): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      return inode !== undefined && inodes.has(inode);
    } catch {
      return false; // closed meanwhile
    }
  }).length;
}

async function readDatabase(pool: Pool): Promise<{ size: number; logged: number }> {
  const { rows } = await pool.query<{ size: number; logged: number }>(
    `SELECT pg_database_size(current_database())::float8 AS size,
            pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS logged`,
  );
  return rows[0] as { size: number; logged: number };
}
