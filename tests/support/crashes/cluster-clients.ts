import { setTimeout as pause } from 'node:timers/promises';
import { isOpenOperation, type Operation } from '@corral/contracts';
import { UndocumentedAnswer } from '../clients/answer.js';
import { operationIdOf, type TeamClient } from '../clusters/client.js';
import { answersTo, type ClusterSystem } from '../clusters/start-cluster-system.js';
import { type Belief, learn } from './cluster-belief.js';
import { callOf, faultArbitrary, stepArbitrary } from './cluster-steps.js';
import type { Disturbance } from './disturbed-stores.js';
import { drawer } from './draw.js';
import { type Crashed, type Crashing, whileCrashing } from './while-crashing.js';

/** What the only client of its clusters knows about one of them. */
interface KnownCluster {
  readonly team: string;
  readonly name: string;
  readonly belief: Belief;
}

export interface ClusterChaos extends Crashed {
  readonly requests: number;
  /** The ids of operations that clients know. */
  readonly operations: readonly string[];
  readonly known: readonly KnownCluster[];
  /** How many requests were accepted, by kind. */
  readonly accepted: Readonly<Record<string, number>>;
}

export interface ClusterChaosOptions {
  readonly seed: number;
  /** The smallest number. */
  readonly kills: number;
  /** The shortest time. */
  readonly minutes: number;
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
  const operations = new Set<string>();
  const known: KnownCluster[] = [];
  const accepted: Record<string, number> = {};
  let requests = 0;

  /** @param isOwner of the clusters with these names; others share them */
  const live = async (
    { isOver, kills, report }: Crashing,
    client: TeamClient,
    { names, isOwner, clientSeed }: { names: readonly string[]; isOwner: boolean; clientSeed: number },
  ): Promise<void> => {
    const next = drawer(stepArbitrary(names.length), clientSeed);
    const beliefs = new Map<string, Belief>();
    const memory = operationMemory(client, report);
    const mayDelete = (): boolean =>
      accepted.remove === undefined || kills() < wanted * DELETIONS_UNTIL || !hasLasted(DELETIONS_UNTIL);
    while (!isOver()) {
      const { wish, cluster, looksBack, thinkMs } = next();
      if (wish.kind === 'remove' && !mayDelete()) continue;
      const surroundings = { ...system.surroundings, name: names[cluster] as string };
      try {
        const answer = await client.insist(callOf(wish, surroundings), { timeoutMs: PATIENCE_MS });
        requests += 1;
        if (answer.status < 300) accepted[wish.kind] = (accepted[wish.kind] ?? 0) + 1;
        const id = operationIdOf(answer);
        if (id !== null) operations.add(id);
        if (id !== null) memory.add(id);
        if (isOwner) {
          const before = beliefs.get(surroundings.name) ?? { kind: 'absent' };
          const { belief, problem } = learn(before, wish, { ...answer, code: answer.json?.code }, surroundings);
          beliefs.set(surroundings.name, belief);
          if (problem !== undefined) report(`${problem} ${answer.text}`);
        }
        if (looksBack) await memory.lookAtOne();
      } catch (error) {
        report(error instanceof UndocumentedAnswer ? `${error.message}: ${error.cause}` : String(error));
      }
      await pause(thinkMs);
    }
    for (const [name, belief] of beliefs) known.push({ team: client.team, name, belief });
  };

  const crashes = {
    seed,
    disturbances,
    faults: { cloud: system.cloud, of: faultArbitrary },
    programs: [...system.apis, ...system.reconcilers],
    answers: () => answersTo(system),
    isEnough: (kills: number) =>
      hasLasted(1) &&
      kills >= wanted &&
      operations.size >= wanted &&
      NEEDED.every((kind) => accepted[kind] !== undefined),
  };
  const times = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, at) => make(at));
  const crashed = await whileCrashing(crashes, (run) =>
    Promise.all(
      system.teams.flatMap(({ member }, index) => [
        ...times(OWNERS_PER_TEAM, (at) => {
          const names = times(CLUSTERS_PER_OWNER, (number) => `own-${at}-${number}`);
          return live(run, member, { names, isOwner: true, clientSeed: seed + 200 + index * 20 + at });
        }),
        ...times(RIVALS_PER_TEAM, (at) =>
          live(run, member, { names: SHARED, isOwner: false, clientSeed: seed + 300 + index * 20 + at }),
        ),
      ]),
    ),
  );
  return { ...crashed, requests, operations: [...operations], known, accepted };
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
