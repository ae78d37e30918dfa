import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { CliExit, usageError } from '../exit-codes.js';
import { type CliIo, isInteractive } from '../io.js';

/**
 * Asks whether to go on.
 *
 * @param yes what `--yes` said
 * @throws CliError where nobody can answer, CliExit if the answer is no
 */
export async function confirm(io: CliIo, question: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!isInteractive(io))
    throw usageError('No terminal to prompt on. Pass --yes, or --dry-run to see what would happen.');
  const answer = await ask(io, `${question} [y/N] `);
  if (/^y(es)?$/i.test(answer)) return;
  io.err.write('Nothing was changed.\n');
  throw new CliExit('refused');
}

/** Asks for a name, so that it is not confirmed by habit. Otherwise as `confirm`. */
export async function confirmName(io: CliIo, what: string, name: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!isInteractive(io))
    throw usageError('No terminal to prompt on. Pass --yes, or --dry-run to see what would happen.');
  const answer = await ask(io, `${what} Type its name to continue: `);
  if (answer === name) return;
  io.err.write('That is not the name. Nothing was changed.\n');
  throw new CliExit('refused');
}

/**
 * Asks for the number of sets that are removed: an answer by habit is no answer.
 *
 * @param sentence says what is removed
 * @param option what confirms it where nobody can answer
 * @throws CliError where nobody can answer, CliExit if the answer is another number
 */
export async function confirmCount(io: CliIo, sentence: string, count: number, option: string): Promise<void> {
  if (!isInteractive(io)) {
    throw usageError(`${sentence} No terminal to prompt on. Pass ${option} to confirm, or --dry-run to see the plan.`);
  }
  const answer = await ask(io, `${sentence} Type ${count} to continue: `);
  if (answer === String(count)) return;
  io.err.write('That is not the number. Nothing was changed.\n');
  throw new CliExit('refused');
}

async function ask({ stdin, err, signal }: CliIo, question: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: err, terminal: true });
  const answered = new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    // Ctrl-C reaches a terminal that reads lines, and not the process.
    lines.once('SIGINT', () => reject(new CliExit('interrupted')));
    lines.once('close', () => reject(new CliExit('refused')));
    signal.addEventListener('abort', () => reject(new CliExit('interrupted')), { once: true });
  });
  lines.setPrompt(question);
  lines.prompt();
  try {
    return (await answered).trim();
  } catch (error) {
    err.write('\n');
    throw error;
  } finally {
    lines.close();
  }
}

/** Reads one line that nobody sees, or all of standard input where there is no terminal. */
export async function readSecret(io: CliIo, what: string): Promise<string> {
  if (!isInteractive(io)) return (await readAll(io)).trim();
  io.err.write(`${what}: `);
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    return await ask({ ...io, err: unseen }, '');
  } finally {
    io.err.write('\n');
  }
}

const TEXT_BYTES_MAX = 8_388_608;

/** Reads all of standard input as UTF-8. @throws CliError when it is longer than 8 MiB */
const readAll = async (io: CliIo): Promise<string> => (await readAllBytes(io)).toString('utf8');

/** Reads all of standard input. @throws CliError when it is longer than 8 MiB */
export async function readAllBytes({ stdin }: CliIo): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const buffer = Buffer.from(chunk as Buffer);
    bytes += buffer.length;
    if (bytes > TEXT_BYTES_MAX) throw usageError('Standard input is longer than 8 MiB.');
    chunks.push(buffer);
  }
  return Buffer.concat(chunks);
}
