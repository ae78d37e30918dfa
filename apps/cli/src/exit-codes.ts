/** How the command ends. docs/cli.md lists them; a test compares. */
export const exitCodes = {
  ok: { code: 0, meaning: 'success; for `diff`: no differences' },
  refused: { code: 1, meaning: 'refused, or part of it failed; for `diff`: there are differences' },
  usage: { code: 2, meaning: 'wrong usage, or a file that cannot be read; for `diff`: any error' },
  signedOut: { code: 3, meaning: 'not signed in: no token, or one that is no longer accepted' },
  notFound: { code: 4, meaning: 'it does not exist, or the token has no access to it' },
  conflict: { code: 5, meaning: 'somebody else changed it meanwhile, or its state does not allow it now' },
  timeout: { code: 6, meaning: 'timed out: it did not happen within `--timeout`' },
  unavailable: { code: 7, meaning: 'a service does not answer, or refuses requests for now' },
  unexpected: { code: 70, meaning: 'a bug in this command' },
  interrupted: { code: 130, meaning: 'interrupted by Ctrl-C' },
} as const;
export type ExitReason = keyof typeof exitCodes;

/** The command cannot go on. The message is one sentence that says what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    readonly reason: ExitReason,
    message: string,
  ) {
    super(message);
  }
}

export const usageError = (message: string): CliError => new CliError('usage', message);

/** A program that the command ran has failed, and said why itself. */
export class ProgramFailed extends Error {
  override readonly name = 'ProgramFailed';
  constructor(readonly exitCode: number) {
    super(String(exitCode));
  }
}

/** Ends the command with a reason of which everything has been said already. */
export class CliExit extends Error {
  override readonly name = 'CliExit';
  constructor(readonly reason: ExitReason) {
    super(reason);
  }
}
