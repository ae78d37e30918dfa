import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from '@corral/testing';
import { type Team, ZONE } from '../system/start-system.js';
import type { Answer } from './answer.js';
import { callDns } from './dns-api.js';

export interface Load {
  /** The answers so far, oldest first. */
  readonly answers: readonly (Answer & { readonly isWrite: boolean })[];
  /** The requests without an answer, or with an undocumented one. */
  readonly failures: readonly unknown[];
  stop(): Promise<void>;
}

const CLIENTS = 4;
const THINK_MS = 20;

/**
 * Starts clients that read and write their own sets, one request after the other, until they are stopped.
 *
 * @param url the address of the gateway, which ends in `/v1`
 */
export function startLoad(url: string, { token, slug }: Pick<Team, 'slug' | 'token'>): Load {
  const answers: (Answer & { isWrite: boolean })[] = [];
  const failures: unknown[] = [];
  let isStopped = false;
  const send = async (method: string, path: string, body?: object): Promise<void> => {
    try {
      const answer = await callDns(url, { method, path: `/zones/${ZONE}${path}`, token, ...(body && { body }) });
      answers.push({ ...answer, isWrite: method !== 'GET' });
    } catch (error) {
      failures.push(error);
    }
  };
  const client = async (number: number): Promise<void> => {
    const name = `load${number}.${slug}`;
    for (let round = 0; !isStopped; round += 1) {
      const records = [{ value: `192.0.2.${(round % 200) + 1}`, comment: `round ${round}` }];
      if (round % 10 === 0) await send('POST', '/rrsets', { name, type: 'A', records });
      else if (round % 10 === 9) await send('DELETE', `/rrsets/${name}/A`);
      else if (round % 2 === 0) await send('POST', `/rrsets/${name}/A/actions/set_records`, { records });
      else await send('GET', '/rrsets');
      await pause(THINK_MS);
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  return {
    answers,
    failures,
    async stop() {
      isStopped = true;
      await Promise.all(clients);
    },
  };
}

/** Waits for this many accepted writes from now on. */
export async function untilWritten(load: Load, count: number): Promise<void> {
  const accepted = () => load.answers.filter(({ isWrite, status }) => isWrite && status < 300).length;
  const before = accepted();
  await waitFor(`${count} more accepted writes`, () => accepted() >= before + count);
}
