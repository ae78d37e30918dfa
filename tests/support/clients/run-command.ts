import { spawn } from 'node:child_process';

export type Command = readonly string[];

export interface CommandOptions {
  /** Merged over our own environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** The command is killed after this time. The default is 60,000. */
  readonly timeoutMs?: number;
}

export interface CommandResult {
  /** Null if it could not be started or was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. Never rejects. */
export function runCommand([program = '', ...args]: Command, options: CommandOptions = {}): Promise<CommandResult> {
  const { env = {}, cwd, timeoutMs = 60_000 } = options;
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Node's own `timeout` stays active after a command that could not be started.
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const end = (result: CommandResult): void => {
      clearTimeout(timer);
      resolve(result);
    };
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', (error) => end({ code: null, stdout, stderr: stderr + error.message }));
    child.once('close', (code) => end({ code, stdout, stderr }));
  });
}
