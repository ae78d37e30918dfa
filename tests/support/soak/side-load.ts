import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { type Answer, isTimeout, UndocumentedAnswer } from '../clients/answer.js';
import { callDns, type DnsCall } from '../clients/dns-api.js';
import type { ChaosSoFar } from '../crashes/chaos.js';
import { drawer } from '../crashes/crash-plan.js';
import { DEMO_ZONE, type System, ZONE } from '../system/start-system.js';
import { endDemos } from './demos.js';

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
    (kind: string, problems: string[]) =>
    async (call: DnsCall): Promise<Answer | null> => {
      try {
        const answer = await callDns(url, call);
        answers[kind] ??= {};
        answers[kind][answer.status] = (answers[kind][answer.status] ?? 0) + 1;
        return answer;
      } catch (error) {
        if (error instanceof UndocumentedAnswer) problems.push(`${error.message}: ${error.cause}`);
        else if (isTimeout(error)) problems.push(`${call.method} ${call.path} got no answer`);
        return null; // its process was killed
      }
    };

  const reader = async ({ problems }: ChaosSoFar, isOver: () => boolean): Promise<void> => {
    const ask = asking('lists', problems);
    for (let round = 0; !isOver(); round += 1) {
      const token = teams[round % teams.length]?.token ?? '';
      const paths = [`/zones/${ZONE}/rrsets?per_page=3&page=${1 + (round % 4)}`, `/zones/${ZONE}`, '/zones?per_page=5'];
      await ask({ method: 'GET', path: paths[round % paths.length] as string, token });
      await pause(THINK_MS);
    }
  };

  const poller = async ({ problems, answered }: ChaosSoFar, isOver: () => boolean): Promise<void> => {
    const ask = asking('actions', problems);
    for (let round = 0; !isOver(); round += 1) {
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

  const demoMaker = async ({ problems }: ChaosSoFar, isOver: () => boolean, ownSeed: number): Promise<void> => {
    const ask = asking('demos', problems);
    const next = drawer(demoArbitrary, ownSeed);
    while (!isOver()) {
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

  const timePasses = async (_chaos: ChaosSoFar, isOver: () => boolean): Promise<void> => {
    while (!isOver()) {
      await endDemos(pool, 6).catch(() => undefined); // Postgres may be unavailable
      await pause(20 * THINK_MS);
    }
  };

  return {
    answers,
    /** The actions of accepted writes, as reported to the clients that waited for them. */
    failedActions,
    run: (chaos: ChaosSoFar, isOver: () => boolean): Promise<unknown> =>
      Promise.all([
        reader(chaos, isOver),
        poller(chaos, isOver),
        timePasses(chaos, isOver),
        ...[1, 2].map((number) => demoMaker(chaos, isOver, seed + number)),
      ]),
  };
}

const demoArbitrary = fc.record({
  withCode: fc.boolean(),
  sets: fc.integer({ min: 0, max: 4 }),
  isExtended: fc.boolean(),
  isDeleted: fc.boolean(),
});
