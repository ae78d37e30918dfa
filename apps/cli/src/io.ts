import type { Readable } from 'node:stream';

/** What the command knows of the world. Tests pass another one. */
export interface CliIo {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly out: OutputStream;
  readonly err: OutputStream;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Aborted when nobody reads the output any more. */
  readonly outputClosed: AbortSignal;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /**
   * Runs a program on the same terminal until it ends.
   *
   * @param env all of its variables
   * @returns its exit code; null when it cannot be started
   */
  readonly run: (command: readonly string[], env: NodeJS.ProcessEnv) => Promise<number | null>;
  /** Opens the address in a browser. */
  readonly openBrowser: (url: string) => Promise<unknown>;
  /** Whether questions are errors, even on a terminal. */
  readonly neverAsks?: boolean;
  /** Whether only results, errors and what people are to do is printed. */
  readonly isQuiet?: boolean;
}

interface OutputStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Whether somebody sits there: questions can be asked, and answers read. */
export const isInteractive = ({ stdin, err, neverAsks = false }: CliIo): boolean =>
  !neverAsks && stdin.isTTY === true && err.isTTY === true;
