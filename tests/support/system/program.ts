import { get } from 'node:http';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Ended, type RunningProcess, startProcess, waitFor } from '@corral/testing';

export const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** A built program of the repository: `builtFile('apps/dns-gateway/dist/main.js')`. */
export const builtFile = (path: string): string => resolve(repository, path);

export interface ProgramSpec {
  /** The name for messages. */
  readonly name: string;
  /** A built program of the repository, or an absolute path. A function is called on each start. */
  readonly file: string | (() => string);
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Options for Node.js itself. */
  readonly nodeArgs?: readonly string[];
  /** The address that answers 200 once the program is ready. */
  readonly readyUrl: string;
}

/** A process that a test may end and start again at the same address, any number of times. */
export interface Program {
  readonly name: string;
  /** Starts the program unless it runs, without waiting until it is ready. */
  start(): Promise<void>;
  /** @throws Error with the output of the program if it ends, or is not ready in time */
  untilReady(): Promise<void>;
  /** Sends SIGKILL, so that the process cannot clean up. */
  kill(): Promise<void>;
  /** Sends SIGTERM. @returns how the process ended @throws Error if it does not end by itself in time */
  stop(): Promise<Ended>;
  /** The output of the current or last process. */
  output(): string;
  /** The output of all its processes, one after the other. */
  outputs(): string;
  /** The process ID of the current or last process. */
  readonly pid: number;
  /** Resolves with how the current process ends, for any reason. */
  readonly exited: Promise<Ended>;
}

const STOP_MS = 90_000;
/** How long one readiness check waits for its answer. Further checks follow. */
const CHECK_MS = 20_000;

export function program({ name, file, env, nodeArgs = [], readyUrl }: ProgramSpec): Program {
  const args = () => [...nodeArgs, builtFile(typeof file === 'function' ? file() : file)];
  let running: RunningProcess | null = null;
  let before = '';
  const current = (): RunningProcess => {
    if (running === null) throw new Error(`${name} was never started.`);
    return running;
  };
  let isRunning = false;
  const end = async (work: (process: RunningProcess) => Promise<Ended>): Promise<Ended> => {
    const ended = await work(current());
    isRunning = false;
    return ended;
  };
  return {
    name,
    async start() {
      if (isRunning) return;
      before += running?.output() ?? '';
      running = await startProcess({ name, command: process.execPath, args: args(), env: { ...env } });
      isRunning = true;
    },
    async untilReady() {
      const process = current();
      let ended: Ended | null = null;
      void process.exited.then((how) => {
        ended = how;
      });
      await waitFor(`${name} to be ready`, async () => ended !== null || (await statusOf(readyUrl)) === 200).catch(
        (cause: unknown) => {
          throw new Error(`${name} is not ready.\n${process.output()}`, { cause });
        },
      );
      if (ended !== null) throw new Error(`${name} ended by itself: ${JSON.stringify(ended)}\n${process.output()}`);
    },
    async kill() {
      await end((process) => {
        process.kill('SIGKILL');
        return process.exited;
      });
    },
    async stop() {
      if (running === null) return { code: null, signal: null };
      const startedAt = performance.now();
      const ended = await end((process) => process.stop({ timeoutMs: STOP_MS }));
      if (performance.now() - startedAt >= STOP_MS) throw new Error(`${name} did not end ${STOP_MS} ms after SIGTERM.`);
      return ended;
    },
    output: () => current().output(),
    outputs: () => before + current().output(),
    get pid() {
      return current().pid;
    },
    get exited() {
      return current().exited;
    },
  };
}

/** Asks on a new connection: one that is kept open would count as a connection that the program holds. */
const statusOf = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { agent: false, signal: AbortSignal.timeout(CHECK_MS) }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    }).on('error', reject);
  });

/** Runs the command of operators. @returns its output @throws Error with it if it exits with another code than 0 */
export async function runAdmin(
  args: readonly string[],
  env: ProgramSpec['env'],
  file = builtFile('apps/admin/dist/main.js'),
): Promise<string> {
  const running = await startProcess({ command: process.execPath, args: [file, ...args], env: { ...env } });
  const { code } = await running.exited;
  if (code !== 0) throw new Error(`admin ${args.join(' ')} ended with ${code}: ${running.output()}`);
  return running.output();
}
