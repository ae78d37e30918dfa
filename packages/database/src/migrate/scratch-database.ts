import { randomBytes } from 'node:crypto';
import { connectWhenUp } from './connect-when-up.js';

/**
 * Lends an empty database for `work`, and drops it afterwards.
 *
 * @param serverUrl any database of a server on which the user may create databases
 */
export async function withScratchDatabase<T>(serverUrl: string, work: (databaseUrl: string) => Promise<T>): Promise<T> {
  const name = `corral_scratch_${randomBytes(6).toString('hex')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const server = await connectWhenUp(serverUrl, { timeoutMs: 30_000, log: () => undefined });
  try {
    await server.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    try {
      return await work(url.toString());
    } finally {
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  } finally {
    await server.end();
  }
}
