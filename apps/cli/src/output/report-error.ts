import { isCorralError } from '@corral/client';
import { CommanderError } from 'commander';
import { CliError, CliExit, type ExitReason, exitCodes } from '../exit-codes.js';
import type { CliIo } from '../io.js';
import { exitReasonOf, failureText } from './failure-text.js';
import { dataText, type OutputFormat } from './printer.js';
import { printable } from './table.js';

/** Why a command ends, and how. The sentence is null if everything has been said. */
export interface End {
  readonly reason: ExitReason;
  readonly sentence: string | null;
}

/** An error as data. `status`, `code`, `requestId` and `errors` are those of the API's refusal, else null. */
interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly exitCode: number;
    readonly status: number | null;
    readonly code: string | null;
    readonly requestId: string | null;
    readonly errors: readonly unknown[];
  };
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

/** Says on standard error why the command ends: in one line, or as data. @returns how it ends */
export function reportError(error: unknown, io: Pick<CliIo, 'err' | 'signal'>, output: OutputFormat): ExitReason {
  const { reason, sentence } = endOf(error, io);
  if (sentence === null) return reason;
  if (output === 'table') io.err.write(`corral: ${sentence}\n`);
  else io.err.write(dataText(output, errorBody(error, sentence, reason)));
  return reason;
}

function errorBody(error: unknown, message: string, reason: ExitReason): ErrorBody {
  const refusal = isCorralError(error) ? error : null;
  return {
    error: {
      message: refusal === null ? message : line(refusal.detail),
      exitCode: exitCodes[reason].code,
      status: refusal === null || refusal.status === 0 ? null : refusal.status,
      code: refusal?.code ?? null,
      requestId: refusal?.requestId ?? null,
      errors: refusal?.errors ?? [],
    },
  };
}
