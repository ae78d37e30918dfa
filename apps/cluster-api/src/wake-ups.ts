import type { ClusterId, ServerId } from '@corral/contracts';
import type { Queue } from '@corral/queue';

export type WakeUp<Id> = (id: Id) => Promise<void>;

/** Sends a wake-up for a due cluster. Never rejects: the sweep finds the row if the wake-up is lost. */
export const clusterWakeUp =
  (queue: Pick<Queue, 'nudge'>): WakeUp<ClusterId> =>
  (clusterId) =>
    queue.nudge('reconcile-cluster', { clusterId }, { jobId: clusterId });

/** The same for an adopted server. */
export const serverWakeUp =
  (queue: Pick<Queue, 'nudge'>): WakeUp<ServerId> =>
  (serverId) =>
    queue.nudge('reconcile-server', { serverId }, { jobId: serverId });
