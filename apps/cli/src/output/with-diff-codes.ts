import type { Cli } from '../cli.js';
import { CliExit, exitCodes } from '../exit-codes.js';
import { reportError } from './report-error.js';

/** Runs a comparison: 1 means differences, so every error ends with 2. */
export async function withDiffCodes(cli: Cli, compare: () => Promise<void>): Promise<void> {
  try {
    await compare();
  } catch (error) {
    if (error instanceof CliExit) throw error;
    const reason = reportError(error, cli.io, cli.options.output);
    throw new CliExit(reason === 'interrupted' || exitCodes[reason].code === 0 ? reason : 'usage');
  }
}
