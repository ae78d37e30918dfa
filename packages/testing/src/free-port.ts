import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Between the registered ports of services and the kernel's ephemeral ports (from 32,768 on Linux). */
const [LOWEST, HIGHEST] = [10_240, 32_767];
const TRIES_MAX = 50;

/**
 * Finds a free port of 127.0.0.1 at random, so that concurrent searches and restarting processes rarely collide. Listen
 * on port 0 instead where possible.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`No port from ${LOWEST} to ${HIGHEST} was free in ${TRIES_MAX} tries.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
