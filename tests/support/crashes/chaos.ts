import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, isTimeout, UndocumentedAnswer } from '../clients/answer.js';
import { callDns } from '../clients/dns-api.js';
import { type System, type Team, ZONE } from '../system/start-system.js';
import { drawer } from './crash-plan.js';
import {
  faultArbitrary,
  fitting,
  requestOf,
  type SetKey,
  setsOf,
  stepArbitrary,
  type WriteRequest,
} from './crash-steps.js';
import { breakCloud } from './disturb.js';
import { type Killer, killAgainAndAgain } from './killer.js';

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

export interface Chaos {
  readonly kills: number;
  /** The requests without an answer because a process was killed. */
  readonly lost: number;
  readonly answered: readonly AnsweredWrite[];
  /** Events that must never happen, whatever is killed. */
  readonly problems: readonly string[];
}

const CLIENTS_PER_TEAM = 3;

export type ChaosSoFar = Pick<Chaos, 'answered'> & { readonly problems: string[] };

export interface ChaosPlan {
  readonly seed: number;
  /** Called repeatedly. @param soFar the kills and answers of this run */
  readonly isOver: (soFar: Pick<Chaos, 'kills' | 'answered'>) => boolean;
  /** The teams whose clients write. The default is all. */
  readonly teams?: readonly Team[];
  /** The addresses for clients, which end in `/v1`. The default is the gateways themselves. */
  readonly urls?: readonly string[];
  /** Kills processes until the run is over. The default is every gateway and reconciler, each at its own moments. */
  readonly kill?: (killer: Killer) => Promise<unknown>;
  /** Other work until the run is over. */
  readonly beside?: (chaos: ChaosSoFar, isOver: () => boolean) => Promise<unknown>;
}

/** Lets clients write, makes the upstream fail and kills processes until the run is over. */
export async function runChaos(system: System, plan: ChaosPlan): Promise<Chaos> {
  const { seed, teams = system.teams, urls = system.gateways.map(({ url }) => url) } = plan;
  const { kill = killEachByItself(system) } = plan;
  const chaos = { kills: 0, lost: 0, answered: [] as AnsweredWrite[], problems: [] as string[] };
  const isOver = (): boolean => plan.isOver(chaos);
  let marks = 0;

  const send = async (team: Team, gateway: number, request: WriteRequest): Promise<Answer | null> => {
    const url = urls[gateway % urls.length] ?? '';
    try {
      return await callDns(url, { ...request, path: `/zones/${ZONE}${request.path}`, token: team.token });
    } catch (error) {
      if (error instanceof UndocumentedAnswer) chaos.problems.push(`${error.message}: ${error.cause}`);
      else if (isTimeout(error)) chaos.problems.push(`${request.method} ${request.path} got no answer`);
      else chaos.lost += 1;
      return null;
    }
  };

  const client = async (team: Team, clientSeed: number): Promise<void> => {
    const next = drawer(stepArbitrary, clientSeed);
    while (!isOver()) {
      const step = next();
      const key = setsOf(team.slug)[step.set] as SetKey;
      const read = { method: 'GET', path: `/rrsets/${encodeURIComponent(key.name)}/${key.type}` };
      const seen = step.readsFirst ? await send(team, step.gateway, read) : null;
      marks += 1;
      const request = requestOf(seen === null ? step : fitting(step, seen.status === 200), key, marks);
      for (let sends = 0; sends <= step.resends; sends += 1) {
        const answer = await send(team, step.gateway + sends, request);
        if (answer !== null) {
          const { status, json } = answer;
          chaos.answered.push({ request, key, status, actionId: json?.action?.id ?? null, code: json?.error?.code });
          if (status < 500) break;
        }
      }
      await pause(step.thinkMs);
    }
  };

  const killer = {
    seed: seed + 100,
    isOver,
    answers: () => chaos.answered.filter(({ status }) => status < 500).length,
    onKill: () => {
      chaos.kills += 1;
    },
    onProblem: (problem: string) => chaos.problems.push(problem),
  };
  await Promise.all([
    breakCloud(system.cloud, faultArbitrary, { seed: seed + 1, isOver }),
    kill(killer),
    plan.beside?.(chaos, isOver),
    ...teams.flatMap((team, index) =>
      Array.from({ length: CLIENTS_PER_TEAM }, (_, number) => client(team, seed + 200 + index * 10 + number)),
    ),
  ]);
  return chaos;
}

/** Kills each gateway and each reconciler at one moment after the other, independently of the others. */
const killEachByItself =
  ({ gateways, reconcilers }: System) =>
  (killer: Killer): Promise<unknown> =>
    Promise.all(
      [...gateways, ...reconcilers].map((program, index) =>
        killAgainAndAgain(program, { ...killer, seed: killer.seed + index }),
      ),
    );
