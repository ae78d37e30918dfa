import { readdirSync, readFileSync } from 'node:fs';

/** Process IDs by the name of their group. Children belong to the group, too, except those of this process. */
export type ProcessGroups = Readonly<Record<string, readonly number[]>>;

interface Times {
  /** The CPU time of each group, in ticks of the kernel. */
  readonly groups: Readonly<Record<string, number>>;
  readonly busy: number;
  readonly all: number;
}

/**
 * Starts to measure which group uses the CPU, as Linux counts it.
 *
 * @returns a function that states the share of all CPU time that each group, and other processes, have used since
 */
export function measureCpu(groups: ProcessGroups): () => string {
  const before = readTimes(groups);
  return () => {
    const after = readTimes(groups);
    const all = after.all - before.all;
    const own = Object.entries(after.groups).map(
      ([name, ticks]) => [name, ticks - (before.groups[name] ?? 0)] as const,
    );
    const others = after.busy - before.busy - own.reduce((sum, [, ticks]) => sum + ticks, 0);
    return [...own, ['others', others] as const]
      .map(([name, ticks]) => `${name} ${Math.max(0, (100 * ticks) / all).toFixed(0)} %`)
      .join(', ');
  };
}

function readTimes(groups: ProcessGroups): Times {
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...more] = (
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] as string
  )
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = user + nice + system + more.reduce((sum, ticks) => sum + ticks, 0);
  const processes = readProcesses();
  const ticksOf = (pids: readonly number[]): number =>
    membersAmong(processes, pids).reduce((sum, { ticks }) => sum + ticks, 0);
  return {
    groups: Object.fromEntries(Object.entries(groups).map(([name, pids]) => [name, ticksOf(pids)])),
    busy,
    all: busy + idle + waiting,
  };
}

/** The processes of a group, with the CPU time that each has used, in ticks of the kernel. */
export const membersOf = (pids: readonly number[]): Process[] => membersAmong(readProcesses(), pids);

const membersAmong = (processes: readonly Process[], pids: readonly number[]): Process[] =>
  processes.filter(({ pid, parent }) => pids.includes(pid) || (parent !== process.pid && pids.includes(parent)));

const readProcesses = (): Process[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcess);

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
  /** Those of its children that have ended. */
  readonly endedTicks: number;
}

/** @returns none if the process has ended meanwhile */
function readProcess(pid: string): Process[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in brackets, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent = 0, ...ticks] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]));
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = ticks;
    return [{ pid: Number(pid), parent, ticks: user + system, endedTicks: endedUser + endedSystem }];
  } catch {
    return [];
  }
}

/** The parent process of a Postgres connection. */
export function parentOf(pid: number): number {
  const [found] = readProcess(String(pid));
  if (found === undefined) throw new Error(`There is no process ${pid}`);
  return found.parent;
}

/** A process and all below it, with their commands. */
export function commandsBelow(pid: number): { pid: number; command: string }[] {
  const processes = readProcesses();
  const below = (parents: readonly number[]): number[] => {
    const children = processes.filter(({ parent }) => parents.includes(parent)).map((each) => each.pid);
    return children.length === 0 ? [] : [...children, ...below(children)];
  };
  return [pid, ...below([pid])].map((each) => ({ pid: each, command: commandOf(each) }));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
  } catch {
    return ''; // ended meanwhile
  }
}
