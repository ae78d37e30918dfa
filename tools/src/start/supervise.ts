import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { endWithUs, waitFor } from '@corral/testing';

export interface ProgramSpec {
  /** The name, which is also that of its log file. */
  readonly name: string;
  /** The path of the built program. */
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  readonly readyUrl: string;
  readonly logFile: string;
}

export interface Supervised {
  /** Resolves when the program first answers at `readyUrl`. @throws Error with the name of the log file if it does not */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

const READY_MS = 120_000;
const RESTART_MS = 1_000;
const STOP_MS = 15_000;

/** Runs a program until it is stopped, and restarts it whenever it ends by itself. It never outlives us. */
export function supervise(spec: ProgramSpec, say: (line: string) => void): Supervised {
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  let wasReady = false;

  const runs = (async () => {
    while (!stopping.signal.aborted) {
      const running = start(spec);
      child = running.child;
      const how = await running.exited;
      if (stopping.signal.aborted) return;
      say(
        `${spec.name} exited (${how}). Restarting it; its log is ${spec.logFile}, which ends with:\n${lastLineOf(spec.logFile)}`,
      );
      await pause(RESTART_MS, null, { signal: stopping.signal }).catch(() => undefined);
    }
  })();

  const ready = waitFor(
    `${spec.name} to be ready (its log is ${spec.logFile})`,
    async () => stopping.signal.aborted || (await fetch(spec.readyUrl)).ok,
    { timeoutMs: READY_MS },
  ).then(() => {
    wasReady = true;
  });

  return {
    ready,
    async stop() {
      stopping.abort();
      child?.kill('SIGTERM');
      const force = setTimeout(() => child?.kill('SIGKILL'), wasReady ? STOP_MS : 0);
      await runs;
      clearTimeout(force);
    },
  };
}

function start({ file, env, logFile }: ProgramSpec): { child: ChildProcess; exited: Promise<string> } {
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...env },
    detached: true, // Ctrl-C reaches us only: we end the programs in order
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const callOff =
    child.pid === undefined ? () => undefined : endWithUs({ pid: child.pid, signal: 'TERM', whom: 'process' });
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  }).finally(callOff);
  return { child, exited };
}

const LINE_MAX = 1_000;

/** The last line of a file, of which at most the last thousand bytes. */
function lastLineOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, LINE_MAX));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8').trimEnd().split('\n').at(-1) ?? '';
  } finally {
    closeSync(file);
  }
}
