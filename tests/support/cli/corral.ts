import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import { builtFile } from '../system/program.js';

export interface Ran {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Running {
  readonly pid: number;
  readonly ended: Promise<Ran>;
  /** Standard error so far. */
  err(): string;
  out(): string;
  /** Waits until standard error contains it. @returns the groups of the match */
  untilSaid(pattern: RegExp): Promise<string[]>;
  signal(name: NodeJS.Signals): void;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
}

/** The command as people run it: the built program with a configuration of its own. */
export interface Corral {
  readonly folder: string;
  readonly configPath: string;
  start(args: readonly string[], options?: RunOptions): Running;
  run(...args: string[]): Promise<Ran>;
  runWith(options: RunOptions, ...args: string[]): Promise<Ran>;
  /** @returns standard output as JSON @throws Error with the output if it ends with another code than 0 */
  // biome-ignore lint/suspicious/noExplicitAny: any body of the APIs
  json(...args: string[]): Promise<any>;
  /** How many lines all runs have written so far. */
  lines(): number;
  remove(): Promise<void>;
}

const program = builtFile('apps/cli/dist/main.js');

/** Nothing of the person who runs the tests. */
const withoutSettings = Object.fromEntries(
  ['CONTEXT', 'TEAM', 'URL', 'TOKEN', 'DNS_URL', 'DNS_TOKEN', 'ALLOW_HTTP'].map((name) => [
    `CORRAL_${name}`,
    undefined,
  ]),
);

/** @param env of every run */
export async function corralCommand(env: Readonly<Record<string, string | undefined>> = {}): Promise<Corral> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-cli-'));
  const configPath = join(folder, 'config.yaml');
  const own = {
    ...withoutSettings,
    CORRAL_CONFIG: configPath,
    CORRAL_CACHE: join(folder, 'cache'),
    KUBECONFIG: join(folder, 'kube', 'config'),
    ...env,
  };
  let lines = 0;
  const start: Corral['start'] = (args, { env: more = {}, input = '' } = {}) => {
    const all: Readonly<Record<string, string | undefined>> = { ...process.env, ...own, ...more };
    const child = spawn(process.execPath, [program, ...args], { env: all, stdio: ['pipe', 'pipe', 'pipe'] });
    const said = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.err += text;
      lines += text.split('\n').length - 1;
    });
    child.stdin.on('error', () => undefined).end(input);
    const ended = new Promise<Ran>((resolve) => {
      child.once('close', (code) => resolve({ code, ...said }));
    }).then((ran) => {
      // Whatever happens: no secret on standard error, and no stack.
      for (const name of ['CORRAL_TOKEN', 'CORRAL_DNS_TOKEN'] as const) {
        if (all[name]) expect(ran.err).not.toContain(all[name]);
      }
      expect(ran.err).not.toMatch(/^\s+at .*:\d+:\d+/m);
      expect(ran.err).not.toContain('\u001b');
      return ran;
    });
    return {
      pid: child.pid as number,
      ended,
      err: () => said.err,
      out: () => said.out,
      untilSaid: (pattern) =>
        waitFor(`corral ${args.join(' ')} to say ${pattern}`, async () => pattern.exec(said.err) ?? null).then(
          (match) => [...match],
        ),
      signal: (name) => void child.kill(name),
    };
  };
  const runWith: Corral['runWith'] = (options, ...args) => start(args, options).ended;
  return {
    folder,
    configPath,
    start,
    runWith,
    run: (...args) => runWith({}, ...args),
    async json(...args) {
      const { code, out, err } = await runWith({}, ...args, '-o', 'json');
      if (code !== 0) throw new Error(`corral ${args.join(' ')} ended with ${code}: ${err}${out}`);
      return JSON.parse(out);
    },
    lines: () => lines,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
