import { freePort } from './free-port.js';
import { type Missing, unlessInstalled } from './needing.js';
import { type RunningProcess, startProcess } from './process/start-process.js';

export type TestRedis = {
  url: string;
  /** Null for a server that somebody else has started. */
  pid: number | null;
  /** Stops the server if it was started for this caller. Safe to repeat. */
  stop(): Promise<void>;
};

/**
 * A Redis for one test file: CORRAL_TEST_REDIS_URL if set, otherwise a new empty `redis-server`, which the test may
 * flush, pause and stop.
 *
 * @returns null when neither is available; the caller's Redis tests are then skipped, see `missingRedis`
 */
export async function redisForTests(env: NodeJS.ProcessEnv = process.env): Promise<TestRedis | null> {
  if (env.CORRAL_TEST_REDIS_URL) return { url: env.CORRAL_TEST_REDIS_URL, pid: null, stop: async () => undefined };
  return isRedisInstalled() ? startRedis() : null;
}

/** Whether `redis-server` is on PATH. */
export const isRedisInstalled = (): boolean => missingRedisServer() === null;

const REDIS: Missing = {
  what: 'Redis',
  how: 'install redis-server (Debian: apt-get install redis-server); for some, CORRAL_TEST_REDIS_URL is enough',
};

/** Requirement of tests that use `redisForTests`. */
export const missingRedis = (env: NodeJS.ProcessEnv = process.env): Missing | null =>
  env.CORRAL_TEST_REDIS_URL ? null : missingRedisServer();

/** Requirement of tests that start and kill a `redis-server`. */
export const missingRedisServer = (): Missing | null => unlessInstalled(['redis-server', '--version'], REDIS);

/** Starts an empty `redis-server`, which keeps nothing. */
export const startRedisServer = (port: number): Promise<RunningProcess> =>
  startProcess({
    command: 'redis-server',
    args: ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    readyLine: /ready to accept connections/i,
  });

async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  const server = await startRedisServer(port);
  return { url: `redis://127.0.0.1:${port}`, pid: server.pid, stop: async () => void (await server.stop()) };
}
