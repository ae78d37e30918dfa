import { readdirSync, readFileSync } from 'node:fs';

/** The kernel of Linux states CPU time in hundredths of a second on all processors that Node.js supports. */
const TICKS_PER_SECOND = 100;

/** CPU time that a process has used, those of its children included that are there or have ended. */
function cpuSecondsOf(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + ticksOf(each, each === pid), 0) / TICKS_PER_SECOND;
}

/** Resident memory in MiB. Of a process with children, what they share counts once. */
export function memoryOf(pid: number): number {
  const all = [pid, ...childrenOf(pid)];
  const kilobytes = all.map((each) => Number(/^Pss:\s+(\d+)/m.exec(read(`${each}/smaps_rollup`))?.[1] ?? 0));
  return Math.round(kilobytes.reduce((sum, each) => sum + each, 0) / 1024);
}

/** Starts to measure. @returns a function that states which share of a core each has used since, in percent */
export function measureCpu(pids: Readonly<Record<string, number>>): () => Record<string, number> {
  const readAll = () => Object.entries(pids).map(([name, pid]) => [name, cpuSecondsOf(pid)] as const);
  const before = new Map(readAll());
  const startedAt = performance.now();
  return () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    return Object.fromEntries(
      readAll().map(([name, used]) => [name, ((used - (before.get(name) ?? 0)) / seconds) * 100]),
    );
  };
}

/** Starts to measure. @returns a function that states which part of all cores was busy since, in percent */
export function measureMachine(): () => number {
  const readTicks = () => {
    const line = read('stat').split('\n', 1)[0] as string;
    const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...more] = line.split(/\s+/).slice(1, 9).map(Number);
    const busy = user + nice + system + more.reduce((sum, ticks) => sum + ticks, 0);
    return { busy, all: busy + idle + waiting };
  };
  const before = readTicks();
  return () => {
    const after = readTicks();
    return ((after.busy - before.busy) / (after.all - before.all)) * 100;
  };
}

/** The name of the program, in brackets, may contain anything. */
const statOf = (pid: number): string[] => {
  const stat = read(`${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
};

function ticksOf(pid: number, withEnded: boolean): number {
  const fields = statOf(pid);
  return (withEnded ? [11, 12, 13, 14] : [11, 12]).reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
}

const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => statOf(each)[1] === String(pid));

/** Empty if the process has ended meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, 'utf8');
  } catch {
    return '';
  }
}
