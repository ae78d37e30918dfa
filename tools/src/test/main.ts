/** `npm test`: one Postgres and one Jest for all packages, and one line at the end. */
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgres } from '@corral/testing';
import { addUp, type JestReport, summaryLine } from './add-up.js';
import { chooseTests, listPackages } from './packages.js';
import { type StartedJest, startJest } from './run-jest.js';
import { readSkipNotes, skipLines } from './skips.js';

const INTERRUPTED = 130;

/** System tests start processes of their own, which wait for each other: one worker more than there are cores keeps these busy. */
const WORKERS = availableParallelism() + 1;

const root = fileURLToPath(new URL('../../..', import.meta.url));
const resultsDir = join(root, 'test-results');
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'random-order': { type: 'boolean', default: false },
    seed: { type: 'string' },
    testNamePattern: { type: 'string', short: 't' },
  },
});

let jest: StartedJest | undefined;
let isInterrupted = false;
function interrupt(): void {
  isInterrupted = true;
  jest?.interrupt();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
const parent = process.ppid;
setInterval(() => process.ppid !== parent && interrupt(), 500).unref();

const order = randomOrder();
const report = await runTests();
process.exitCode = isInterrupted ? INTERRUPTED : await summarize(report);

async function runTests(): Promise<JestReport | null> {
  const { chosen, patterns } = chooseTests(await listPackages(root), positionals);
  // Some of what takes long fills a database with millions of rows.
  const inMemory = process.env.CORRAL_TEST_LONG === undefined;
  const postgres = process.env.CORRAL_TEST_POSTGRES_URL ? null : await startPostgres({ inMemory });
  try {
    if (isInterrupted) return null;
    jest = await startJest({
      folders: chosen.map(({ folder }) => join(root, folder)),
      patterns,
      workers: WORKERS,
      resultsDir,
      env: { ...(postgres === null ? {} : { CORRAL_TEST_POSTGRES_URL: postgres.url }), ...order.env },
      flags: [...order.flags, ...(options.testNamePattern ? [`--testNamePattern=${options.testNamePattern}`] : [])],
    });
    return await jest.ended;
  } finally {
    await postgres?.stop();
  }
}

/** The order of files, and of the tests in each. */
function randomOrder(): { seed?: string; env: Record<string, string>; flags: string[] } {
  if (!options['random-order']) return { env: {}, flags: [] };
  const seed = options.seed ?? String(randomInt(1, 2 ** 31 - 1));
  console.error(orderLine(seed));
  return { seed, env: { CORRAL_TEST_ORDER_SEED: seed }, flags: ['--randomize', `--seed=${seed}`] };
}

function orderLine(seed: string): string {
  return `Random order: npm test -- --random-order --seed ${seed}`;
}

async function summarize(report: JestReport | null): Promise<number> {
  const skips = await readSkipNotes(resultsDir);
  const totals = addUp(report, root, skips);
  console.log('');
  for (const failure of totals.failures) console.log(`failed: ${failure}`);
  if (totals.failed > 0 && order.seed !== undefined) console.log(orderLine(order.seed));
  for (const line of skipLines(skips)) console.log(line);
  console.log(summaryLine(totals));
  return totals.failed === 0 ? 0 : 1;
}
