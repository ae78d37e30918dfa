import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import type { Program } from './program.js';
import { type RoundRobin, startRoundRobin } from './round-robin.js';

/** The least per service. A round of restarts takes longer, also on a slow machine, which then needs no second round. */
const REQUESTS = Number(process.env.CORRAL_ROLLING_REQUESTS ?? 200);
/** Fewer than the Postgres connections of a service, so that no client waits for another. */
export const CLIENTS = 6;
/** The pause between two requests of a client: some are always in flight, and the machine has time for the restarts. */
const THINK_MS = 50;
/** One in this many requests of a client is a write. */
export const WRITE_EVERY = 4;
const CHECK_EVERY_MS = 200;
/** A new connection to Postgres may take 2 s, and more on a loaded machine. That says nothing about restarts. */
const DATABASE_AWAY = /^503 .*The database is unavailable/;
/** How long a service answers after it was asked to stop. */
export const DRAIN_DELAY_MS = '5s';

type Replica = Program & { readonly base: string };
/** @param index the number of the client; @param turn the number of its request */
type Send = (base: string, index: number, turn: number) => Promise<Response>;

/**
 * Restarts the replicas in turn behind a proxy that checks readiness, again and again, until all requests are answered.
 *
 * @returns the requests that failed
 */
export async function failuresWhileRestarting(replicas: readonly Replica[], send: Send): Promise<string[]> {
  const proxy = await startRoundRobin(
    replicas.map(({ base }) => base),
    { readyUrls: replicas.map(({ base }) => `${base}/readyz`), checkEveryMs: CHECK_EVERY_MS },
  );
  const failures: string[] = [];
  let left = REQUESTS;
  let rounds = 0;
  const client = async (index: number): Promise<void> => {
    // The load continues until every replica was restarted: it must not end before the restarts.
    for (let turn = 0; left > 0 || rounds === 0; turn += 1) {
      left -= 1;
      const failure = await send(proxy.base, index, turn).then(
        async (answer) => (answer.status < 300 ? null : `${answer.status} ${await answer.text()}`),
        (error: Error) => `${error.message}: ${String((error.cause as Error | undefined)?.message)}`,
      );
      if (failure !== null && !DATABASE_AWAY.test(failure)) failures.push(failure);
      await pause(THINK_MS);
    }
  };
  const restarts = async (): Promise<void> => {
    while (left > 0 || rounds === 0) {
      for (const [index, replica] of replicas.entries()) await restart(proxy, replica, index);
      rounds += 1;
    }
  };
  try {
    await Promise.all([restarts(), ...Array.from({ length: CLIENTS }, (_, index) => client(index))]);
  } finally {
    await proxy.stop();
  }
  return failures;
}

async function restart(proxy: RoundRobin, replica: Replica, index: number): Promise<void> {
  expect(await replica.stop()).toEqual({ code: 0, signal: null });
  await replica.start();
  await replica.untilReady();
  await waitFor('the proxy to find it ready', () => proxy.ready[index]);
}
