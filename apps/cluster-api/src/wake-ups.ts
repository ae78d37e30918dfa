import type { ClusterId, ServerId } from '@corral/contracts';
import type { Queue } from '@corral/queue';

/**
 * Sends a wake-up for a row that was made due, once that is committed. Nobody waits for it, so that an answer does not: the sweep finds
 * the row if the wake-up is lost.
 */
export type WakeUp<Id> = (id: Id) => void;

export const clusterWakeUp =
  (queue: Pick<Queue, 'nudge'>): WakeUp<ClusterId> =>
  (clusterId) =>
    void queue.nudge('reconcile-cluster', { clusterId }, { jobId: clusterId });

/** Has the tokens of connections verified, and their prices read, where that is due. */
export const connectionWakeUp = (queue: Pick<Queue, 'nudge'>) => (): void => {
  void queue.nudge('verify-connections', {}, { jobId: 'change' });
  void queue.nudge('refresh-prices', {}, { jobId: 'change' });
};

/** The same for an adopted server. */
export const serverWakeUp =
  (queue: Pick<Queue, 'nudge'>): WakeUp<ServerId> =>
  (serverId) =>
    void queue.nudge('reconcile-server', { serverId }, { jobId: serverId });
