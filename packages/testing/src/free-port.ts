import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Ports between the registered ones of services and the kernel's ephemeral ports (from 32,768 on Linux). */
const [LOWEST, HIGHEST] = [10_240, 32_767];
const TRIES_MAX = 50;

/**
 * Each Jest worker has ports of its own. A process that is killed and started again finds its port free for a moment, and no
 * process of another test may take it meanwhile.
 */
const WORKERS_MAX = 16;
const given = new Set<number>();

/**
 * Finds a free port of 127.0.0.1 at random, which this process has not given before and no other worker of the run gives.
 * Listen on port 0 instead where possible.
 */
export async function freePort(): Promise<number> {
  const worker = Number(process.env.JEST_WORKER_ID ?? 0) % WORKERS_MAX;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = randomInt(LOWEST / WORKERS_MAX, (HIGHEST + 1) / WORKERS_MAX) * WORKERS_MAX + worker;
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`No port from ${LOWEST} to ${HIGHEST} was free in ${TRIES_MAX} tries.`);
}

/** Whether nobody listens on a port of 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
