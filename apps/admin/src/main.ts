import { createInterface } from 'node:readline/promises';
import { findMigrations } from './find-migrations.js';
import { runAdmin } from './run-admin.js';

const BROKEN_PIPE = 141;

// A reader that has enough, such as `head`, closes the pipe. A full disk is a failure: a backup that is cut must not look whole.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? BROKEN_PIPE : 1));
}

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

process.exitCode = await runAdmin(process.argv.slice(2), {
  env: process.env,
  folder: process.cwd(),
  get migrationsDir() {
    return findMigrations(process.env);
  },
  stdout: process.stdout,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  // Programs are not asked.
  ...(process.stdin.isTTY && { confirm }),
});
