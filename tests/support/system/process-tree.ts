import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

export interface RunningPid {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Whether this machine lists its processes in a form that we can read. */
export const canListProcesses = (): boolean => existsSync('/proc/self/stat');

/** All processes below one, read from `/proc`. */
export async function descendantsOf(pid: number): Promise<RunningPid[]> {
  const all = await listProcesses();
  const below = (parent: number): RunningPid[] =>
    all.filter((each) => each.parent === parent).flatMap((each) => [each, ...below(each.pid)]);
  return below(pid);
}

/** Those of the given processes that still run. A process ID that another program has now does not count. */
export async function stillRunning(processes: readonly RunningPid[]): Promise<RunningPid[]> {
  const all = await listProcesses();
  return processes.filter(({ pid, command }) => all.some((each) => each.pid === pid && each.command === command));
}

async function listProcesses(): Promise<RunningPid[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(readProcess));
  return found.filter((each) => each !== null);
}

async function readProcess(pid: number): Promise<RunningPid | null> {
  try {
    const [stat, commandLine] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : { pid, parent: Number(parent), command: commandLine.replaceAll('\0', ' ').trim() };
  } catch {
    return null; // it ended meanwhile
  }
}
