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
  /**
   * Resolves when the program first answers at `readyUrl`.
   *
   * @throws Error with the last words of a program that cannot start as things are, or the name of the log file of one that is not ready
   */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

/** `EX_CONFIG` of sysexits.h: a restart without a change is pointless. */
const EXIT_CONFIG = 78;

const READY_MS = 120_000;
const RESTART_MS = 1_000;
const STOP_MS = 15_000;

/** Runs a program until it is stopped, and restarts it whenever it ends by itself, unless that is pointless. It never outlives us. */
export function supervise(spec: ProgramSpec, say: (line: string) => void): Supervised {
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  let wasReady = false;
  const hopeless = Promise.withResolvers<never>();

  const runs = (async () => {
    while (!stopping.signal.aborted) {
      const running = start(spec);
      child = running.child;
      const how = await running.exited;
      if (stopping.signal.aborted) return;
      const words = running.lastWords();
      if (!wasReady && child.exitCode === EXIT_CONFIG)
        return hopeless.reject(new Error(words === '' ? `${spec.name} exited (${how})` : words));
      say(
        `${spec.name} exited (${how}). Restarting it; its log is ${spec.logFile}${words === '' ? '' : `, which ends with:\n${words}`}`,
      );
      await pause(RESTART_MS, null, { signal: stopping.signal }).catch(() => undefined);
    }
  })();

  const answers = waitFor(
    `${spec.name} to be ready (its log is ${spec.logFile})`,
    async () => stopping.signal.aborted || (await fetch(spec.readyUrl)).ok,
    { timeoutMs: READY_MS },
  );
  const ready = Promise.race([answers, hopeless.promise]).then(() => {
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

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<string>;
  /** The last line of its log. Empty if it has written none, or the log is gone. */
  lastWords(): string;
}

function start({ file, env, logFile }: ProgramSpec): Started {
  const log = openSync(logFile, 'a', 0o600);
  const { size } = fstatSync(log);
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
  return { child, exited, lastWords: () => lastLineAfter(size, logFile) };
}

const WORDS_MAX = 4_000;

/** The last line after a position, within the last thousands of bytes. Node.js ends the report of an error with its stack and version. */
function lastLineAfter(start: number, path: string): string {
  try {
    const file = openSync(path, 'r');
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(Math.max(0, size - start), WORDS_MAX));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    closeSync(file);
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '' && !/^(Node\.js v\d|\s+at )/.test(line));
    return lines.at(-1) ?? '';
  } catch {
    return '';
  }
}
