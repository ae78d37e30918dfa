import { execFile } from 'node:child_process';

const MAX_BYTES = 64 * 1024 * 1024;

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
  const { env = {}, cwd, timeoutMs: timeout = 60_000 } = options;
  const how = { cwd, timeout, env: { ...process.env, ...env }, killSignal: 'SIGKILL', maxBuffer: MAX_BYTES } as const;
  return new Promise((resolve) => {
    const child = execFile(program, args, how, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === 'number') resolve({ code: error.code, stdout, stderr });
      else resolve({ code: null, stdout, stderr: stderr + error.message });
    });
    child.stdin?.on('error', () => undefined).end();
  });
}
