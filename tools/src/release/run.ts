import { execFileSync } from 'node:child_process';

export interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Runs a command.
 *
 * @returns what it printed
 * @throws Error with what it said, if it fails
 */
export function run(command: string, args: readonly string[], { cwd, env }: RunOptions): string {
  try {
    const options = { cwd, env: { ...process.env, ...env }, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
    return execFileSync(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string };
    throw new Error(`${command} ${args[0] ?? ''} failed: ${`${stdout}${stderr}`.trim() || message}`);
  }
}
