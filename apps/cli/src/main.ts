#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes } from './exit-codes.js';
import { runCli } from './run-cli.js';
import { runProgram } from './run-program.js';

const interruption = new AbortController();
const outputClosed = new AbortController();
// The first one lets what is being written end. The second one does not wait for it.
process.on('SIGINT', () => {
  if (interruption.signal.aborted) process.exit(exitCodes.interrupted.code);
  interruption.abort();
});
process.on('SIGTERM', () => interruption.abort());
// A reader such as `head` may have enough. What the command does is not about its output, so it goes on in silence.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (stream === process.stdout) outputClosed.abort();
  });
}

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  out: process.stdout,
  err: process.stderr,
  signal: interruption.signal,
  outputClosed: outputClosed.signal,
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
  run: runProgram,
  openBrowser: async (url) => (await import('open')).default(url),
});
