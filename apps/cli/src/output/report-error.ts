import { isCorralError } from '@corral/client';
import { CommanderError } from 'commander';
import { CliError, CliExit, type ExitReason } from '../exit-codes.js';
import type { CliIo } from '../io.js';
import { exitReasonOf, failureText } from './failure-text.js';
import { printable } from './table.js';

/** Why a command ends, and how. The sentence is null if everything has been said. */
export interface End {
  readonly reason: ExitReason;
  readonly sentence: string | null;
}

export function endOf(error: unknown, { signal }: Pick<CliIo, 'signal'>): End {
  if (error instanceof CommanderError) return { reason: error.exitCode === 0 ? 'ok' : 'usage', sentence: null };
  if (error instanceof CliExit) return { reason: error.reason, sentence: null };
  if (signal.aborted) return { reason: 'interrupted', sentence: 'Interrupted.' };
  if (error instanceof CliError) return { reason: error.reason, sentence: line(error.message) };
  if (isCorralError(error)) return { reason: exitReasonOf(error), sentence: line(failureText(error)) };
  const message = error instanceof Error ? error.message : String(error);
  return { reason: 'unexpected', sentence: line(`This is a bug in corral: ${message}`) };
}

const line = (sentence: string): string => printable(sentence.replace(/\s+/g, ' '));

/** Says on standard error why the command ends, in one line. @returns how it ends */
export function reportError(error: unknown, io: Pick<CliIo, 'err' | 'signal'>): ExitReason {
  const { reason, sentence } = endOf(error, io);
  if (sentence !== null) io.err.write(`corral: ${sentence}\n`);
  return reason;
}
