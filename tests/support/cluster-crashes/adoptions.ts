import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { operationIdOf, type TeamClient } from '../clusters/client.js';
import { adoptedServersPath, adoptionOf, heldServers, makeServer, otherLabels } from '../clusters/server-journey.js';
import type { ClusterSystem, ClusterTeam } from '../clusters/start-cluster-system.js';
import { drawer } from '../crashes/crash-plan.js';
import { findServerContradictions, type KnownServer } from './judge-servers.js';
import { learnOfServer, type ServerWish } from './server-belief.js';
import type { Sideline, Stage } from './sideline.js';

const SERVERS_PER_TEAM = 3;
const PATIENCE_MS = 90_000;

/** Settings that the reconcilers need: they repeat nothing before a lost request can have arrived. */
export const adoptionEnv = { SERVER_REBUILD_GRACE_MS: '6s' } as const;

interface Turn {
  /** The number of the server within its team. */
  readonly server: number;
  /** Some requests must be refused: to adopt an adopted server, or to detach a free one. */
  readonly isFitting: boolean;
  readonly thinkMs: number;
}

const turnArbitrary: fc.Arbitrary<Turn> = fc.record({
  server: fc.nat(SERVERS_PER_TEAM - 1),
  isFitting: fc.constantFrom(true, true, true, false),
  // Long enough for some adoptions to end, short enough to interrupt others.
  thinkMs: fc.oneof(fc.integer({ min: 10, max: 500 }), fc.integer({ min: 1_000, max: 5_000 })),
});

/** Administrators adopt servers of their projects, detach them at any moment, and adopt them again. */
export function adoptions(system: ClusterSystem, seed: number): Sideline {
  const known: KnownServer[] = [];
  return {
    needed: ['adopt', 'adoptAgain', 'deregister'],
    async run(stage) {
      await Promise.all(
        system.teams.map(async (team, index) =>
          known.push(...(await adoptAtRandom(system, team, seed + index, stage))),
        ),
      );
    },
    findContradictions: async (changes) =>
      findServerContradictions(changes, { known, held: await heldServers(system) }),
  };
}

async function adoptAtRandom(
  system: ClusterSystem,
  team: ClusterTeam,
  seed: number,
  stage: Stage,
): Promise<KnownServer[]> {
  const servers: KnownServer[] = [];
  for (let number = 0; number < SERVERS_PER_TEAM; number += 1) {
    const spec = await makeServer(system, team, { isArm: number % 2 === 1, hasSshKeys: number > 0 });
    const belief = { kind: 'free', wasAdopted: false } as const;
    servers.push({ spec, belief, labels: otherLabels, adopted: [], accepted: [] });
  }
  const next = drawer(turnArbitrary, seed);
  while (!stage.isOver()) {
    const { server: number, isFitting, thinkMs } = next();
    const server = servers[number] as KnownServer;
    const wish = isFitting === (server.belief.kind === 'adopted') ? 'deregister' : 'adopt';
    try {
      servers[number] = await act(team.admin, server, wish, stage);
    } catch (error) {
      stage.report(String(error));
    }
    await pause(thinkMs);
  }
  return servers;
}

async function act(client: TeamClient, server: KnownServer, wish: ServerWish, stage: Stage): Promise<KnownServer> {
  const { spec, belief: before } = server;
  const answer = await client.insist(
    wish === 'adopt' ? adoptionOf(spec) : { method: 'DELETE', path: `${adoptedServersPath}${spec.serverID}/` },
    { timeoutMs: PATIENCE_MS },
  );
  const operationId = answer.status < 300 ? operationIdOf(answer) : null;
  const { belief, problem } = learnOfServer(before, wish, { ...answer, operationId });
  if (problem !== undefined) stage.report(`server ${spec.serverID} ${problem} ${answer.text}`);
  if (operationId === null || server.accepted.includes(operationId)) return { ...server, belief };
  stage.accept({ team: client.team, id: operationId });
  const isFirst = before.kind === 'free' && !before.wasAdopted;
  stage.count(wish === 'deregister' || isFirst ? wish : 'adoptAgain');
  const adopted = wish === 'adopt' ? [...server.adopted, operationId] : server.adopted;
  return { ...server, belief, adopted, accepted: [...server.accepted, operationId] };
}
