/** `npm run test:long`: the tests that take longer than `npm test` may, each part on its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type LongRun, type LongTest, parseLongArguments, usage } from './long-arguments.js';

const npmTest = fileURLToPath(new URL('../test/main.js', import.meta.url));

let running: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => running?.kill(signal));

const args = process.argv.slice(2);
try {
  if (args.length === 0) console.log(usage);
  else process.exitCode = await runTimes(parseLongArguments(args));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** Stops at the first run that fails, as the next one would replace its results. */
async function runTimes({ run, times }: LongTest): Promise<number> {
  for (let time = 1; time <= times; time += 1) {
    const env = { ...process.env, ...run.env, ...(run.isSeeded ? seedOf() : {}) };
    console.error(`Run ${time} of ${times}${run.isSeeded ? `: CORRAL_CRASH_SEED=${env.CORRAL_CRASH_SEED}` : ''}`);
    const code = await runOnce(run, env);
    if (code !== 0) return code;
  }
  return 0;
}

function seedOf() {
  return { CORRAL_CRASH_SEED: process.env.CORRAL_CRASH_SEED ?? String(randomInt(1, 1_000_000)) };
}

function runOnce({ args }: LongRun, env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, ['--enable-source-maps', npmTest, ...args], { env, stdio: 'inherit' });
  running = child;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
