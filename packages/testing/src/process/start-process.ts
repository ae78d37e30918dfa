import { type ChildProcess, spawn } from 'node:child_process';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { explainByOutput } from '../failures/explain.js';
import { waitFor } from '../wait-for.js';
import { endWithUs } from './end-with-us.js';

export type ProcessSpec = {
  /** Name of its log. Default: the command, or the program run by Node.js. */
  name?: string;
  command: string;
  args?: string[];
  /** Merged into the current environment; `undefined` removes a variable. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Ready once the output contains this text or matches this pattern. */
  readyLine?: string | RegExp;
  /** Ready once a GET of this URL answers with a status below 500. */
  readyUrl?: string;
  readyTimeoutMs?: number;
};

export type Ended = { code: number | null; signal: NodeJS.Signals | null };

export type RunningProcess = {
  pid: number;
  /** Output of stdout and stderr so far, in order of arrival. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** Never rejects. */
  exited: Promise<Ended>;
  /** SIGTERM, then SIGKILL to its whole process group after `timeoutMs` (default 10,000). Safe to repeat. */
  stop(options?: { timeoutMs?: number }): Promise<Ended>;
};

/**
 * Starts a process and waits until it is ready. It never outlives this process.
 *
 * @throws Error with the output when it ends early, or is not ready after `readyTimeoutMs` (default 90,000)
 */
export async function startProcess(spec: ProcessSpec): Promise<RunningProcess> {
  const child = spawn(spec.command, spec.args ?? [], {
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
    env: environmentOf(spec.env),
    detached: true, // its own process group, so that Ctrl-C reaches this process only
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const running = await watch(child, spec);
  try {
    await untilReady(running, spec);
  } catch (error) {
    await running.stop({ timeoutMs: 0 });
    throw new Error(`${titleOf(spec)} did not become ready.\n${running.output()}`, { cause: error });
  }
  return running;
}

function environmentOf(changes: ProcessSpec['env'] = {}): NodeJS.ProcessEnv {
  const merged: NodeJS.ProcessEnv = { ...process.env, ...changes };
  for (const [name, value] of Object.entries(merged)) if (value === undefined) delete merged[name];
  return merged;
}

const OUTPUT_DRAIN_MS = 500;

const titleOf = ({ command, args = [] }: ProcessSpec): string => [command, ...args].join(' ');

/** `apps/dns-gateway/dist/main.js` is named `dns-gateway`. */
function nameOf({ name, command, args = [] }: ProcessSpec): string {
  if (name !== undefined) return name;
  const script = command === process.execPath ? args.find((arg) => /\.[cm]?js$/.test(arg)) : undefined;
  if (script === undefined) return basename(command);
  return /([^/]+)\/dist\/main\.js$/.exec(script)?.[1] ?? basename(script);
}

async function watch(child: ChildProcess, spec: ProcessSpec): Promise<RunningProcess> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  explainByOutput(nameOf(spec), () => output);
  const exited = ending(child);
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('spawn', () => resolve(child.pid as number));
    child.once('error', (error) => reject(new Error(`${titleOf(spec)} could not be started.`, { cause: error })));
  });
  const cancelWatch = endWithUs({ pid, signal: 'KILL', whom: 'group' });
  void exited.then(cancelWatch);
  // Process ids are reused. A group id stays taken while the group has members; after that it may belong to an
  // unrelated process, which must not be killed.
  let isGroupGone = false;
  child.once('exit', () => {
    isGroupGone = !signalGroup(pid, 0);
  });
  const killLeftovers = (): void => {
    if (!isGroupGone) signalGroup(pid, 'SIGKILL');
  };

  return {
    pid,
    exited,
    output: () => output,
    kill: (signal) => void child.kill(signal),
    async stop({ timeoutMs = 10_000 } = {}) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      const force = setTimeout(killLeftovers, timeoutMs);
      try {
        return await exited;
      } finally {
        clearTimeout(force);
        killLeftovers();
      }
    },
  };
}

/** Children may keep the pipes open after the process has ended, so their end is awaited only briefly. */
async function ending(child: ChildProcess): Promise<Ended> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = await new Promise<Ended>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  await Promise.race([closed, pause(OUTPUT_DRAIN_MS, undefined, { ref: false })]);
  return ended;
}

/** @returns whether the group exists */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

async function untilReady(running: RunningProcess, spec: ProcessSpec): Promise<void> {
  const { readyLine, readyUrl, readyTimeoutMs = 90_000 } = spec;
  let ended: Ended | undefined;
  void running.exited.then((how) => {
    ended = how;
  });
  const isReady = async (): Promise<boolean> => {
    if (ended !== undefined) return true; // stop waiting; handled below
    if (readyLine !== undefined && !matches(running.output(), readyLine)) return false;
    return readyUrl === undefined || (await fetch(readyUrl, { signal: AbortSignal.timeout(2_000) })).status < 500;
  };
  await waitFor(`${titleOf(spec)} to be ready`, isReady, { timeoutMs: readyTimeoutMs });
  if (ended !== undefined && (readyLine !== undefined || readyUrl !== undefined)) {
    throw new Error(`It ended with code ${ended.code}, signal ${ended.signal}.`);
  }
}

const matches = (output: string, readyLine: string | RegExp): boolean =>
  typeof readyLine === 'string' ? output.includes(readyLine) : readyLine.test(output);
