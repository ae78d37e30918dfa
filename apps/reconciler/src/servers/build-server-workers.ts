import type { Pool } from '@corral/database';
import { GardenError, renderJoinUserData, type ShootNodes } from '@corral/garden';
import type { Projects } from '@corral/hcloud';
import type { JobHandlers, Queue } from '@corral/queue';
import type { KeyRing } from '@corral/secrets';
import type { Log, Metrics } from '@corral/service';
import { gardenGate } from '../loop/garden-gate.js';
import { leaseStore } from '../loop/lease-store.js';
import { oneAtATime } from '../loop/one-at-a-time.js';
import { tokenOpener } from '../loop/provider-token.js';
import { sweepDue } from '../loop/sweep-due.js';
import { serverWakeUps } from '../loop/wake-ups.js';
import type { ServerTimes } from './model.js';
import { reconcileServerHandler } from './server-handlers.js';
import { serverMetrics } from './server-metrics.js';
import { type ServerPassResult, serverPass } from './server-pass.js';
import { serverStore } from './server-store.js';
import { serverTurns } from './server-turns.js';

export interface ServerSettings {
  /** Servers that this process works on at the same time. */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly sweepIntervalMs: number;
  /** Name of the system image that servers are rebuilt with. */
  readonly image: string;
  readonly times: ServerTimes;
}

export interface ServerWorkerDeps {
  readonly settings: ServerSettings;
  readonly pool: Pool;
  readonly queue: Queue;
  readonly projects: Projects;
  /** Null in an installation without a garden: there are no clusters to be nodes of. */
  readonly nodes: ShootNodes | null;
  /** Opens the tokens of connections. */
  readonly keys: Pick<KeyRing, 'open'>;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface ServerWorkers {
  pass(id: string, stop: AbortSignal): Promise<ServerPassResult>;
  sweep(signal: AbortSignal): Promise<number>;
  readonly handlers: JobHandlers<'servers'>;
  readonly concurrency: number;
  /** Sees to it that there are jobs. */
  schedule(): void;
}

/** Wires the loop over adopted servers. Does nothing until `schedule`. */
export function buildServerWorkers(deps: ServerWorkerDeps): ServerWorkers {
  const { settings, pool, queue, projects, keys, log } = deps;
  const leases = leaseStore(pool, serverTurns);
  const metrics = serverMetrics(deps.metrics, { leases });
  // Of its own: a Shoot that does not take us in must not keep this process from working on clusters.
  const gate = gardenGate({
    places: settings.concurrency,
    onPause: (pause) => log.warn('garden left alone by servers', pause),
  });
  const pass = serverPass({
    ...{ leases, store: serverStore(pool), projects, log, tick: () => performance.now() },
    ...{ image: settings.image, leaseMs: settings.leaseMs, times: settings.times },
    ...{ openToken: tokenOpener(keys), nodes: deps.nodes ?? noNodes, renderJoinUserData, gate },
  });
  const sweep = sweepDue({
    ...{ leases, log },
    send: (serverId) => queue.send('reconcile-server', { serverId, foundBy: 'sweep' }, { jobId: serverId }),
  });
  return {
    ...{ pass, sweep, concurrency: settings.concurrency },
    handlers: {
      'reconcile-server': reconcileServerHandler({ pass, wakeUps: serverWakeUps(queue), metrics, log }),
      'sweep-servers': oneAtATime(sweep),
    },
    schedule: () => void queue.schedule('sweep-servers', {}, settings.sweepIntervalMs),
  };
}

const noGarden = async (): Promise<never> => {
  throw new GardenError('unreachable', 'there is no garden');
};
const noNodes: ShootNodes = {
  ...{ joinData: noGarden, endJoin: noGarden, readNode: noGarden, markNode: noGarden, evictPods: noGarden },
  deleteNode: noGarden,
};
