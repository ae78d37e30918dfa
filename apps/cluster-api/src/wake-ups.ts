import type { ClusterId, ServerId } from '@corral/contracts';
import type { Queue } from '@corral/queue';

export type WakeUp<Id> = (id: Id) => Promise<void>;

/** Hints that a cluster is due. Never rejects: the row says so, and the sweep finds it. */
export const clusterWakeUp =
  (queue: Pick<Queue, 'nudge'>): WakeUp<ClusterId> =>
  (clusterId) =>
    queue.nudge('reconcile-cluster', { clusterId }, { jobId: clusterId });

/** The same for an adopted server. */
export const serverWakeUp =
  (queue: Pick<Queue, 'nudge'>): WakeUp<ServerId> =>
  (serverId) =>
    queue.nudge('reconcile-server', { serverId }, { jobId: serverId });
