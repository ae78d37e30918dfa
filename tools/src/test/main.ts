/** `npm test`: one Postgres for all packages, their tests through turbo, and one line at the end. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isRedisInstalled, startPostgres, WITHOUT_REDIS } from '@corral/testing';
import { addUp, summaryLine } from './add-up.js';
import {
  chooseTests,
  forgetResults,
  listTestedPackages,
  readResults,
  SYSTEM_TESTS,
  type TestedPackage,
} from './packages.js';
import { turboRunner } from './turbo-runner.js';

const INTERRUPTED = 130;

/** Two packages at a time on a small machine; on a larger one, more of them with more Jest workers each. */
const PACKAGES_AT_ONCE = Math.max(2, Math.floor(availableParallelism() / 2));
const JEST_WORKERS = Math.max(1, Math.floor(availableParallelism() / PACKAGES_AT_ONCE));

const root = fileURLToPath(new URL('../../..', import.meta.url));
const turbo = turboRunner(root);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, turbo.interrupt);

const parent = process.ppid;
setInterval(() => process.ppid !== parent && turbo.interrupt(), 500).unref();

const { chosen, patterns } = chooseTests(await listTestedPackages(root), process.argv.slice(2));
await forgetResults(root, chosen);
const succeeded = await runTests(chosen, patterns);
process.exitCode = turbo.isInterrupted() ? INTERRUPTED : await report(chosen, succeeded);

async function runTests(packages: TestedPackage[], patterns: string[]): Promise<boolean> {
  const hasRedis = Boolean(process.env.CORRAL_TEST_REDIS_URL) || isRedisInstalled();
  if (!hasRedis) console.log(WITHOUT_REDIS);
  const postgres = process.env.CORRAL_TEST_POSTGRES_URL ? null : await startPostgres();
  try {
    const env = {
      ...(postgres === null ? {} : { CORRAL_TEST_POSTGRES_URL: postgres.url }),
      TEST_WITH_REDIS: hasRedis ? 'yes' : 'no', // turbo keeps results with and without apart
    };
    const system = packages.filter(({ name }) => name === SYSTEM_TESTS);
    const others = packages.filter(({ name }) => name !== SYSTEM_TESTS);
    let allSucceeded = true;
    for (const group of [others, system]) {
      const names = group.map(({ name }) => name);
      // A package that runs alone has the workers of all. System tests wait for processes more than they compute.
      const workers = names.length === 1 ? PACKAGES_AT_ONCE * JEST_WORKERS : JEST_WORKERS;
      const run = {
        ...{ packages: names, patterns, packagesAtOnce: PACKAGES_AT_ONCE },
        env: { ...env, CORRAL_JEST_WORKERS: String(workers) },
      };
      allSucceeded = (await turbo.run(run)) && allSucceeded;
    }
    return allSucceeded;
  } finally {
    await postgres?.stop();
  }
}

async function report(packages: TestedPackage[], tasksSucceeded: boolean): Promise<number> {
  const totals = addUp(await readResults(root, packages), { tasksSucceeded });
  console.log('');
  for (const failure of totals.failures) console.log(`failed: ${failure}`);
  console.log(summaryLine(totals));
  return totals.failed === 0 ? 0 : 1;
}
