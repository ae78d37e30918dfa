import type { Clock } from '../clock.js';
import type { Server } from '../compute/model.js';
import type { Servers } from '../compute/servers.js';
import { DueQueue } from '../garden/gardenlet/due-queue.js';
import { type JoinData, readJoinData } from './read-join-data.js';

export type { JoinData } from './read-join-data.js';

export interface JoiningMachine {
  /** Null for a machine that is no server of the provider. */
  readonly serverId: number | null;
  readonly name: string;
  readonly serverType: string;
  readonly location: string;
  readonly architecture: 'amd64' | 'arm64';
  /** The rebuild that it runs from; 0 where nobody rebuilds it. */
  readonly rebuild: number;
}

/** `later`: the API server is away just now. `never`: it turns this machine away. */
export type JoinOutcome = 'joined' | 'later' | 'never';

/** The Shoots as machines know them: all that the servers have to do with the garden. */
export interface ShootsOfMachines {
  join(machine: JoiningMachine, data: JoinData): JoinOutcome;
  /** What a server runs from now; null while it does not run. */
  heard(serverId: number, rebuild: number | null): void;
}

export interface MachinesDeps {
  readonly servers: Servers;
  readonly clock: Clock;
  readonly shoots: ShootsOfMachines;
  /** How long it takes from the end of a rebuild until the machine is a node, in milliseconds; read each time. */
  readonly joinMs: () => number;
}

/** As often as the node agent's unit is started again. */
const RETRY_MS = 1000;

/** Does what runs on the servers: after a rebuild their user data is heeded once. */
export function startMachines({ servers, clock, shoots, joinMs }: MachinesDeps): { close(): Promise<void> } {
  const queue = new DueQueue(clock, (key) => consider(Number(key)));

  function consider(id: number): void {
    // Before the state is read: what had ended by now has ended there, and what ends between the two is due at once.
    const now = clock.now();
    const state = servers.runState(id);
    if (state === null) return;
    const { server, rebuild, rebuiltAt } = state;
    shoots.heard(id, rebuild);
    queue.remove(String(id));
    if (rebuiltAt === null) return;
    const isUnderWay = now < rebuiltAt;
    if (!isUnderWay && (rebuild === null || rebuild === server.firstBoot)) return;
    const dueAt = isUnderWay ? rebuiltAt : rebuiltAt + (server.joinMs ?? joinMs());
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

const machineOf = ({ id, name, serverType, location, architecture }: Server, rebuild: number): JoiningMachine => ({
  ...{ serverId: id, name, serverType, location, rebuild },
  architecture: architecture === 'arm' ? 'arm64' : 'amd64',
});
