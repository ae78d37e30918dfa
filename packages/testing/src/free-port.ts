import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below them are registered services, above them the kernel takes ports for outgoing connections (32,768 on Linux). */
const [LOWEST, HIGHEST] = [10_240, 32_767];
const TRIES_MAX = 50;

/**
 * A port of 127.0.0.1 that nothing listens on, drawn at random: another process that looks for one at the same time, and
 * one that starts again at its own, hardly meet. Whoever can should listen on port 0 instead.
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
