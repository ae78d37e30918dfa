import { type Clock, DueQueue } from '../clock.js';
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
  /** Reports the rebuild that a server runs from; null while it does not run. */
  heard(serverId: number, rebuild: number | null): void;
}

interface GardenOfMachines {
  readonly machines: ShootsOfMachines;
  /** `joinMs`: time from the end of a rebuild until the machine is a node, in milliseconds. Read on each use. */
  readonly settings: () => { readonly joinMs: number };
}

/** Restart interval of the node agent's unit, in milliseconds. */
const RETRY_MS = 1000;

/** Simulates the software on the servers: processes the user data once after each rebuild. */
export function startMachines(servers: Servers, clock: Clock, garden: GardenOfMachines): { close(): Promise<void> } {
  const { machines: shoots, settings } = garden;
  const queue = new DueQueue(clock, (key) => consider(Number(key)));

  function consider(id: number): void {
    // Read before the state: a rebuild that ends between the two reads is then due immediately.
    const now = clock.now();
    const state = servers.runState(id);
    if (state === null) return;
    const { server, rebuild, rebuiltAt } = state;
    shoots.heard(id, rebuild);
    queue.remove(String(id));
    if (rebuiltAt === null) return;
    const isUnderWay = now < rebuiltAt;
    if (!isUnderWay && (rebuild === null || rebuild === server.firstBoot)) return;
    const dueAt = isUnderWay ? rebuiltAt : rebuiltAt + settings().joinMs;
    if (now < dueAt) queue.add(String(id), dueAt - now);
    else if (rebuild !== null && boot(server, rebuild) === 'later') queue.add(String(id), RETRY_MS);
  }

  function boot(server: Server, rebuild: number): JoinOutcome {
    const data = server.joins ? readJoinData(server.userData) : null;
    const outcome = data === null ? 'never' : shoots.join(machineOf(server, rebuild), data);
    if (outcome !== 'later') servers.noteFirstBoot(server, rebuild);
    return outcome;
  }

  const unsubscribe = servers.onChange(consider);
  for (const { id } of servers.list()) consider(id);
  return {
    async close() {
      unsubscribe();
      queue.close();
    },
  };
}

const machineOf = ({ id, name, architecture }: Server, rebuild: number): JoiningMachine => ({
  serverId: id,
  name,
  rebuild,
  architecture: architecture === 'arm' ? 'arm64' : 'amd64',
});
