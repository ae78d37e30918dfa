/** `npm run soak`: the soak among the whole-system tests, by itself and for as long as it is told to. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseSoakArguments, type SoakArguments } from './soak-arguments.js';

const tests = fileURLToPath(new URL('../../../tests', import.meta.url));
const jest = fileURLToPath(new URL('../../jest.mjs', import.meta.url));

try {
  await soak(parseSoakArguments(process.argv.slice(2)));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

async function soak({ what, minutes }: SoakArguments): Promise<void> {
  const child = spawn(process.execPath, [jest, `${what}-soak`], {
    cwd: tests,
    env: { ...process.env, CORRAL_SOAK_MINUTES: String(minutes) },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
