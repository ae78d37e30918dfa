import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { type RunningProcess, startProcess } from './process/start-process.js';

export type TestRedis = {
  url: string;
  /** Ends the server if it was started for this caller. Safe to repeat. */
  stop(): Promise<void>;
};

/** The one line that a run without Redis prints. */
export const WITHOUT_REDIS = 'redis-server is not installed: queue and limiter tests run on Postgres only.';

let hasSaidSo = false;

/**
 * A Redis for one test file: CORRAL_TEST_REDIS_URL where that is set, else a `redis-server` of its own, empty, which
 * the test may flush, pause and stop as it likes.
 *
 * @returns null when there is neither: the caller skips its Redis half
 */
export async function redisForTests(env: NodeJS.ProcessEnv = process.env): Promise<TestRedis | null> {
  if (env.CORRAL_TEST_REDIS_URL) return { url: env.CORRAL_TEST_REDIS_URL, stop: async () => undefined };
  if (!isRedisInstalled()) {
    // `npm test` says it once for all packages.
    if (!hasSaidSo && !env.CORRAL_TEST_POSTGRES_URL) process.stderr.write(`${WITHOUT_REDIS}\n`);
    hasSaidSo = true;
    return null;
  }
  return startRedis();
}

/** Whether `redis-server` is on PATH. */
export const isRedisInstalled = (): boolean => spawnSync('redis-server', ['--version']).status === 0;

async function startRedis(): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-redis-'));
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  let server: RunningProcess;
  try {
    server = await startProcess({ command: 'redis-server', args, readyLine: /ready to accept connections/i });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
