import type { Client } from './client-programs.js';
import { runCommand } from './run-command.js';

export interface StepLine {
  readonly step: string;
  readonly [what: string]: unknown;
}

/** Runs the program of a client. @returns its output by step @throws Error with its output if it fails */
export async function walk(
  client: Client,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  { timeoutMs = 240_000 } = {},
): Promise<Record<string, StepLine>> {
  const command = client.kind === 'found' ? client.command : [];
  const { code, stdout, stderr } = await runCommand([...command, ...args], { env, timeoutMs });
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}\n${stdout}`);
  const lines = stdout.trim().split('\n');
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as StepLine).map((line) => [line.step, line]));
}
