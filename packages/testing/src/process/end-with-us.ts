import { spawn } from 'node:child_process';

export type Leftovers = {
  pid: number;
  signal: 'INT' | 'TERM' | 'KILL';
  /** `group`: the process leads a process group, which is ended as a whole. */
  whom: 'process' | 'group';
  /** Removed after the process has ended. */
  directories?: string[];
};

/**
 * The watcher reads from a pipe whose writing end only this process holds. However this process ends, SIGKILL included,
 * the pipe closes, `read` hits end of file, and the rest of the script runs.
 */
const SCRIPT = `
while read -r _; do :; done
target=$1; signal=$2; pid=$3; shift 3
kill -s "$signal" -- "$target" 2>/dev/null
tries=0
while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -s KILL -- "$target" 2>/dev/null
for directory do rm -rf -- "$directory"; done
`;

/**
 * Ends a started process when this process ends without having done so, even by SIGKILL.
 *
 * @returns cancels the watch, for a process that has ended normally
 */
export function endWithUs({ pid, signal, whom, directories = [] }: Leftovers): () => void {
  const target = whom === 'group' ? `-${pid}` : String(pid);
  const watcher = spawn('/bin/sh', ['-c', SCRIPT, 'corral-watcher', target, signal, String(pid), ...directories], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.on('error', () => undefined); // without /bin/sh there is no watcher, and everything else works
  watcher.stdin.on('error', () => undefined);
  watcher.unref();
  // The pipe is a socket, though its type does not say so.
  (watcher.stdin as unknown as { unref(): void }).unref();
  return () => {
    watcher.kill('SIGKILL');
    watcher.stdin.destroy();
  };
}
