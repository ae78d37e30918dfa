import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import type { Answer } from '../clients/answer.js';
import type { DnsCall } from '../clients/dns-api.js';
import { DEMO_ZONE, type System, ZONE } from '../system/start-system.js';
import { endDemos } from './demos.js';
import { type AnsweredWrite, askOrLose } from './dns-clients.js';
import { drawer } from './draw.js';
import type { Crashing } from './while-crashing.js';

export interface SideLoadPlan {
  readonly seed: number;
  /** The address, which ends in `/v1`. */
  readonly url: string;
  readonly courseCode: string;
}

/** The answers to one kind of client, by status. */
export type Answers = Record<string, Record<number, number>>;

const THINK_MS = 150;
/** The actions that a client may ask about in one request. */
const ACTIONS_MAX = 20;

/** What clients do besides writing record sets: they list, wait for actions, and create demos and abandon them. */
export function sideLoad({ teams, pool }: System, { seed, url, courseCode }: SideLoadPlan) {
  const answers: Answers = {};
  const failedActions = new Set<number>();

  const asking =
    (kind: string, run: Crashing) =>
    async (call: DnsCall): Promise<Answer | null> => {
      const answer = await askOrLose(url, call, run);
      if (answer === null) return null;
      answers[kind] ??= {};
      answers[kind][answer.status] = (answers[kind][answer.status] ?? 0) + 1;
      return answer;
    };

  const reader = async (run: Crashing): Promise<void> => {
    const ask = asking('lists', run);
    for (let round = 0; !run.isOver(); round += 1) {
      const token = teams[round % teams.length]?.token ?? '';
      const paths = [`/zones/${ZONE}/rrsets?per_page=3&page=${1 + (round % 4)}`, `/zones/${ZONE}`, '/zones?per_page=5'];
      await ask({ method: 'GET', path: paths[round % paths.length] as string, token });
      await pause(THINK_MS);
    }
  };

  const poller = async (run: Crashing, answered: readonly AnsweredWrite[]): Promise<void> => {
    const ask = asking('actions', run);
    for (let round = 0; !run.isOver(); round += 1) {
      const team = teams[round % teams.length];
      const ids = answered
        .slice(-4 * ACTIONS_MAX)
        .filter(({ actionId, key }) => actionId !== null && key.name.endsWith(team?.slug ?? ''))
        .map(({ actionId }) => actionId as number)
        .slice(-ACTIONS_MAX);
      const token = team?.token ?? '';
      const [last] = ids.slice(-1);
      if (last !== undefined) {
        await ask({ method: 'GET', path: `/actions/${last}`, token });
        const answer = await ask({ method: 'GET', path: `/actions?${ids.map((id) => `id=${id}`).join('&')}`, token });
        for (const { id, status } of answer?.json?.actions ?? []) if (status === 'error') failedActions.add(id);
      }
      await pause(THINK_MS);
    }
  };

  const demoMaker = async (run: Crashing, ownSeed: number): Promise<void> => {
    const ask = asking('demos', run);
    const next = drawer(demoArbitrary, ownSeed);
    while (!run.isOver()) {
      const { withCode, sets, isExtended, isDeleted } = next();
      const teamToken = teams[sets % teams.length]?.token ?? '';
      const made = await ask({
        method: 'POST',
        path: '/demos',
        ...(withCode ? { body: { course_code: courseCode, ttl: 300 } } : { token: teamToken, body: { ttl: 300 } }),
      });
      if (made?.status === 201) {
        const { token, demo } = made.json;
        const own = { path: `/demos/${demo.label}`, token };
        for (let set = 0; set < sets; set += 1) {
          const body = { name: `n${set}.${demo.label}`, type: 'TXT', records: [{ value: `"${demo.label}"` }] };
          await ask({ method: 'POST', path: `/zones/${DEMO_ZONE}/rrsets`, token, body });
        }
        await ask({ method: 'GET', ...own });
        if (isExtended) await ask({ method: 'POST', path: `${own.path}/actions/extend`, token, body: { ttl: 600 } });
        if (isDeleted) await ask({ method: 'DELETE', ...own });
      }
      await ask({ method: 'GET', path: '/demos', token: teamToken });
      await pause(4 * THINK_MS);
    }
  };

  const timePasses = async ({ isOver }: Crashing): Promise<void> => {
    while (!isOver()) {
      await endDemos(pool, 6).catch(() => undefined); // Postgres may be unavailable
      await pause(20 * THINK_MS);
    }
  };

  return {
    answers,
    /** The actions of accepted writes, as reported to the clients that waited for them. */
    failedActions,
    /** @param answered the answers to writes so far */
    run: (run: Crashing, answered: readonly AnsweredWrite[]): Promise<unknown> =>
      Promise.all([
        reader(run),
        poller(run, answered),
        timePasses(run),
        ...[1, 2].map((number) => demoMaker(run, seed + number)),
      ]),
  };
}

const demoArbitrary = fc.record({
  withCode: fc.boolean(),
  sets: fc.integer({ min: 0, max: 4 }),
  isExtended: fc.boolean(),
  isDeleted: fc.boolean(),
});
