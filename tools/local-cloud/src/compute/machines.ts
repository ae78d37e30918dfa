import type { Clock } from '../clock.js';
import { type JoinData, readJoinData } from './join-data.js';
import type { Server, Servers } from './servers.js';

export interface JoiningMachine {
  /** Null for a machine outside the provider. */
  readonly serverId: number | null;
  readonly name: string;
  readonly architecture: 'amd64' | 'arm64';
  /** The rebuild that it runs from; 0 for a machine outside the provider. */
  readonly rebuild: number;
}

/** `later`: the API server is down. `never`: it rejects this machine. */
export type JoinOutcome = 'joined' | 'later' | 'never';

/** The garden's Shoots, as the simulated machines see them. */
export interface ShootsOfMachines {
  join(machine: JoiningMachine, data: JoinData): JoinOutcome;
  /** Reports the rebuild that a server runs from; null while it is rebuilt. */
  heard(serverId: number, rebuild: number | null): void;
}

/** Restart interval of the node agent's unit, in milliseconds. */
const RETRY_MS = 1000;

/**
 * Simulates the software on the servers: processes the user data once after each rebuild.
 *
 * @param joinMs time from the end of a rebuild until the machine is a node, in milliseconds. Read on each use
 */
export function startMachines(servers: Servers, clock: Clock, shoots: ShootsOfMachines, joinMs: () => number) {
  const timers = new Map<number, NodeJS.Timeout>();
  const considerIn = (id: number, ms: number): void => void timers.set(id, setTimeout(consider, ms, id));

  function consider(id: number): void {
    const now = clock.now();
    const server = servers.find(id);
    const [last] = server?.actions ?? [];
    if (server === null || last === undefined) return;
    clearTimeout(timers.get(id));
    shoots.heard(id, server.isRebuilding ? null : server.rebuild);
    const dueAt = last.finishesAt + (server.isRebuilding ? 0 : joinMs());
    if (now < dueAt) considerIn(id, dueAt - now);
    else if (server.rebuild !== null && server.rebuild !== server.firstBoot && boot(server) === 'later')
      considerIn(id, RETRY_MS);
  }

  function boot(server: Server): JoinOutcome {
    const { id: serverId, name } = server;
    const architecture = server.architecture === 'arm' ? 'arm64' : 'amd64';
    const data = readJoinData(server.userData);
    const machine = { serverId, name, architecture, rebuild: server.rebuild ?? 0 } as const;
    const outcome = data === null ? 'never' : shoots.join(machine, data);
    if (outcome !== 'later') servers.change(serverId, { firstBoot: server.rebuild });
    return outcome;
  }

  const unsubscribe = servers.onChange(consider);
  for (const { id } of servers.list()) consider(id);
  return {
    async close() {
      unsubscribe();
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}
