import type { Seen, ServerTimes, Step, WantedServer } from '../model.js';
import { nodeOf } from '../node-cluster.js';
import { DAY_MS, finish, resting, TOKEN_MS, waiting } from '../verdicts.js';
import { decideRebuild } from './await-rebuild.js';
import { decideRequest } from './request-rebuild.js';

const HIBERNATED_MS = 60_000;
const DRAIN_MS = 5_000;

/** Leaving a cluster: drain, delete the Node, and rebuild. */
export function decideLeaving(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const isAsked = wanted.rebuildAskedAt !== null;
  if (!isAsked) {
    const step = decideDrain(wanted, seen, now, times);
    if (step !== null) return step;
  }
  if (wanted.connection.phase === 'Rejected') {
    const message = 'The provider rejects the token of the connection.';
    return finish(waiting(wanted, now, times, { message, inMs: TOKEN_MS }));
  }
  if (!isAsked) return decideRequest(wanted, seen, now, times);
  return decideRebuild(wanted, seen, now, times) ?? decideDrain(wanted, seen, now, times) ?? finish(left(wanted));
}

const left = ({ claim }: WantedServer) => ({
  ...resting('Ready', '', { to: 'stay' }, claim === null ? DAY_MS : 0),
  nodeReady: false,
  hasLeftCluster: true,
});

/**
 * A remaining Node would appear as a lost machine. It is therefore looked up before the rebuild, and again afterwards, because
 * the server can register again until it is rebuilt.
 *
 * @returns null when there is no such Node, or no cluster to drain it for
 */
export function decideDrain(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step | null {
  const { currentCluster, nodeName, rebuildAskedAt, begunAt } = wanted;
  if (currentCluster === null || nodeName === null || currentCluster.isDeleting) return null;
  const node = nodeOf(wanted);
  if (node === null || currentCluster.isHibernated) {
    const message = 'The cluster is hibernated. The server leaves it once the cluster is resumed.';
    return finish(waiting(wanted, now, times, { message, inMs: HIBERNATED_MS, reason: 'ClusterHibernated' }));
  }
  if (seen.node === null) return { do: 'readNode', node };
  if (seen.node === 'absent') return null;
  if (rebuildAskedAt !== null) return { do: 'deleteNode', node };
  if (!seen.node.isUnschedulable) return { do: 'cordon', node };
  if (seen.podsLeft === null) return { do: 'evict', node };
  if (seen.podsLeft > 0 && now.getTime() - begunAt.getTime() < times.drainMsMax) {
    const message = `The node is being drained. Pods still on it: ${seen.podsLeft}.`;
    return finish(waiting(wanted, now, times, { message, inMs: DRAIN_MS, reason: 'NodeLeaving' }));
  }
  return { do: 'deleteNode', node };
}
