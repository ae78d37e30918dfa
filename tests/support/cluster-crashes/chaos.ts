import { setTimeout as pause } from 'node:timers/promises';
import { isOpenOperation, type Operation } from '@corral/contracts';
import { UndocumentedAnswer } from '../clients/answer.js';
import { operationIdOf, type TeamClient } from '../clusters/client.js';
import { answersTo, type ClusterSystem } from '../clusters/start-cluster-system.js';
import { drawer } from '../crashes/crash-plan.js';
import type { Disturbance } from '../crashes/disturb.js';
import { breakCloud } from '../crashes/disturb.js';
import { killInTurns } from '../crashes/killer.js';
import { type Belief, learn } from './belief.js';
import { callOf, faultArbitrary, type Step, stepArbitrary } from './steps.js';

/** An operation that a client knows. */
export interface AcceptedOperation {
  readonly team: string;
  readonly id: string;
}

/** What the only client of its clusters knows about one of them. */
interface KnownCluster {
  readonly team: string;
  readonly name: string;
  readonly belief: Belief;
}

export interface ClusterChaos {
  readonly kills: number;
  readonly requests: number;
  /** The number of requests that were repeated because there was no answer. */
  readonly resent: number;
  readonly acceptedOperations: readonly AcceptedOperation[];
  readonly known: readonly KnownCluster[];
  /** How many requests were accepted, by kind. */
  readonly accepted: Readonly<Record<string, number>>;
  /** Events that must never happen, whatever is killed. */
  readonly problems: readonly string[];
}

export interface ClusterChaosOptions {
  readonly seed: number;
  /** The smallest number. */
  readonly kills: number;
  /** The shortest time. */
  readonly minutes: number;
  /** What else happens meanwhile. */
  readonly disturbances: readonly Disturbance[];
}

const OWNERS_PER_TEAM = 2;
const CLUSTERS_PER_OWNER = 2;
const RIVALS_PER_TEAM = 2;
/** The client for which all rivals of a team act. */
const SHARED = ['shared-1', 'shared-2'];
/**
 * A cluster that is deleted before its Shoot was seen stays for more than a minute, until no late creation can follow.
 * Clusters are deleted only in this part of the time, until one was. Waiting for deletions takes most of a run.
 */
const DELETIONS_UNTIL = 0.6;
const PATIENCE_MS = 90_000;
/** Without at least one of each, a run says nothing about that kind. */
const NEEDED = ['declare', 'putPool', 'hibernate', 'resume', 'remove'];

/**
 * Lets clients act, makes the garden fail and kills processes, until the time has passed and there were enough kills and
 * enough changes of every kind.
 */
export async function runClusterChaos(system: ClusterSystem, options: ClusterChaosOptions): Promise<ClusterChaos> {
  const { seed, kills: wanted, minutes, disturbances } = options;
  const begunAt = performance.now();
  const hasLasted = (part: number): boolean => performance.now() - begunAt >= part * minutes * 60_000;
  const acceptedOperations = new Map<string, AcceptedOperation>();
  const known: KnownCluster[] = [];
  const accepted: Record<string, number> = {};
  const problems: string[] = [];
  let [kills, requests, resent, changes] = [0, 0, 0, 0];
  const isOver = (): boolean =>
    hasLasted(1) && kills >= wanted && changes >= wanted && NEEDED.every((kind) => accepted[kind] !== undefined);
  const mayDelete = (): boolean =>
    accepted.remove === undefined || kills < wanted * DELETIONS_UNTIL || !hasLasted(DELETIONS_UNTIL);
  const report = (problem: string): void => void problems.push(problem);
  const fits = ({ wish }: Step): boolean => wish.kind !== 'remove' || mayDelete();

  /** @param beliefs by the name of the cluster; null for a client that shares its clusters */
  const live = async (
    client: TeamClient,
    names: readonly string[],
    beliefs: Map<string, Belief> | null,
    clientSeed: number,
  ) => {
    const next = drawer(stepArbitrary(names.length), clientSeed);
    const operations = operationMemory(client, report);
    while (!isOver()) {
      const step = next();
      if (!fits(step)) continue;
      const name = names[step.cluster] as string;
      const surroundings = { ...system.surroundings, name };
      try {
        const answer = await client.insist(callOf(step.wish, surroundings), { timeoutMs: PATIENCE_MS });
        requests += 1;
        resent += answer.tries - 1;
        if (answer.status < 300) accepted[step.wish.kind] = (accepted[step.wish.kind] ?? 0) + 1;
        const id = operationIdOf(answer);
        if (id !== null) {
          changes += 1;
          acceptedOperations.set(id, { team: client.team, id });
          operations.add(id);
        }
        if (beliefs !== null) {
          const before = beliefs.get(name) ?? { kind: 'absent' };
          const { belief, problem } = learn(before, step.wish, { ...answer, code: answer.json?.code }, surroundings);
          beliefs.set(name, belief);
          if (problem !== undefined) report(`${problem} ${answer.text}`);
        }
        if (step.looksBack) await operations.lookAtOne();
      } catch (error) {
        report(error instanceof UndocumentedAnswer ? `${error.message}: ${error.cause}` : String(error));
      }
      await pause(step.thinkMs);
    }
    for (const [name, belief] of beliefs ?? []) known.push({ team: client.team, name, belief });
  };

  const killer = {
    seed: seed + 100,
    isOver,
    answers: () => answersTo(system),
    onKill: () => {
      kills += 1;
    },
    onProblem: report,
  };
  const owned = (owner: number): string[] =>
    Array.from({ length: CLUSTERS_PER_OWNER }, (_, number) => `own-${owner}-${number}`);
  const times = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, at) => make(at));
  await Promise.all([
    breakCloud(system.cloud, faultArbitrary, { seed: seed + 1, isOver }),
    ...disturbances.map((disturb) => disturb(isOver)),
    killInTurns([...system.apis, ...system.reconcilers], killer),
    ...system.teams.flatMap(({ member }, index) => [
      ...times(OWNERS_PER_TEAM, (at) => live(member, owned(at), new Map(), seed + 200 + index * 20 + at)),
      ...times(RIVALS_PER_TEAM, (at) => live(member, SHARED, null, seed + 300 + index * 20 + at)),
    ]),
  ]);
  return { kills, requests, resent, acceptedOperations: [...acceptedOperations.values()], known, accepted, problems };
}

/** The operations that one client saw. A final state that it saw must not change later. */
function operationMemory(client: TeamClient, report: (problem: string) => void) {
  const seen = new Map<string, Operation | null>();
  let turn = 0;
  return {
    add: (id: string): void => void seen.set(id, null),
    async lookAtOne(): Promise<void> {
      const ids = [...seen.keys()];
      const id = ids[turn % ids.length];
      turn += 1;
      if (id === undefined) return;
      const { status, json, text } = await client.insist({ method: 'GET', path: `/operations/${id}/` });
      const [before, now] = [seen.get(id) ?? null, json as Operation];
      if (status !== 200) return report(`operation ${id} was answered ${status} ${text}`);
      if (before !== null && now.progress < before.progress) report(`the progress of ${id} fell for a client: ${text}`);
      if (before !== null && !isOpenOperation(before) && now.state !== before.state)
        report(`the end of ${id} changed: ${text}`);
      seen.set(id, now);
    },
  };
}
