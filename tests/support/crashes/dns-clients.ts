import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, isTimeout, UndocumentedAnswer } from '../clients/answer.js';
import { callDns, type DnsCall } from '../clients/dns-api.js';
import { type System, type Team, ZONE } from '../system/start-system.js';
import { fitting, requestOf, type SetKey, setsOf, stepArbitrary, type WriteRequest } from './dns-steps.js';
import { drawer } from './draw.js';
import type { Crashing } from './while-crashing.js';

/** An answer to a write, with the request. */
export interface AnsweredWrite {
  readonly request: WriteRequest;
  readonly key: SetKey;
  readonly status: number;
  readonly actionId: number | null;
  /** The code of an error. */
  readonly code: string | undefined;
}

/** Counts the accepted writes. A run with too few of them shows too little, however long it took. */
export const countAccepted = (answered: readonly AnsweredWrite[]): number =>
  answered.filter(({ status }) => status < 300).length;

/** What proves that processes work: answers that do not say that something is away. */
export const countAnswers = (answered: readonly AnsweredWrite[]): number =>
  answered.filter(({ status }) => status < 500).length;

/** @returns null without an answer, because the process was killed */
export async function askOrLose(
  url: string,
  call: DnsCall,
  { report }: Pick<Crashing, 'report'>,
): Promise<Answer | null> {
  try {
    return await callDns(url, call);
  } catch (error) {
    if (error instanceof UndocumentedAnswer) report(`${error.message}: ${error.cause}`);
    else if (isTimeout(error)) report(`${call.method} ${call.path} got no answer`);
    return null;
  }
}

const CLIENTS_PER_TEAM = 3;

/**
 * Lets clients of all teams write until the run is over.
 *
 * @param urls the addresses for clients, which end in `/v1`
 * @param answered gets each answer to a write
 */
export async function write(
  { teams }: System,
  { seed, urls, answered }: { seed: number; urls: readonly string[]; answered: AnsweredWrite[] },
  run: Crashing,
): Promise<void> {
  let marks = 0;
  const client = async (team: Team, clientSeed: number): Promise<void> => {
    const next = drawer(stepArbitrary, clientSeed);
    while (!run.isOver()) {
      const step = next();
      const key = setsOf(team.slug)[step.set] as SetKey;
      const send = (gateway: number, { path, ...request }: WriteRequest): Promise<Answer | null> => {
        const call = { ...request, path: `/zones/${ZONE}${path}`, token: team.token };
        return askOrLose(urls[gateway % urls.length] as string, call, run);
      };
      const read = { method: 'GET', path: `/rrsets/${encodeURIComponent(key.name)}/${key.type}` };
      const seen = step.readsFirst ? await send(step.gateway, read) : null;
      marks += 1;
      const request = requestOf(seen === null ? step : fitting(step, seen.status === 200), key, marks);
      for (let sends = 0; sends <= step.resends; sends += 1) {
        const answer = await send(step.gateway + sends, request);
        if (answer === null) continue;
        const { status, json } = answer;
        answered.push({ request, key, status, actionId: json?.action?.id ?? null, code: json?.error?.code });
        if (status < 500) break;
      }
      await pause(step.thinkMs);
    }
  };
  const clients = teams.flatMap((team, index) =>
    Array.from({ length: CLIENTS_PER_TEAM }, (_, number) => client(team, seed + 200 + index * 10 + number)),
  );
  await Promise.all(clients);
}
