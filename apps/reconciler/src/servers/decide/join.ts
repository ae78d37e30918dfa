import { DAY_MS, finish, JOIN_TOKEN_MS, JOINED_CHECK_MS, resting, TOKEN_MS, waiting } from '../judge.js';
import {
  hasToJoin,
  nodeOf,
  nodePatchFor,
  type Seen,
  type ServerTimes,
  type Step,
  type WantedServer,
  waitsFor,
} from '../model.js';
import { decideAction, decideRebuild, decideRequest, decideSystem, decideUntilOver } from './rebuild.js';

const CLUSTER_MS = 15_000;
const NODE_MS = 10_000;

/**
 * Joining a cluster: a rebuild with join data, and then the node that registers. Hibernation outlasts the join data, so the
 * server starts over when the cluster is resumed.
 */
export function decideJoining(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const isWanted = hasToJoin(wanted) && wanted.currentCluster?.isHibernated === false;
  if (!isWanted && wanted.rebuildAskedAt === null) return { do: 'beginLeave' };
  if (wanted.connection.phase === 'Rejected') {
    const message = 'The provider rejects the token of the connection.';
    return finish(waiting(wanted, now, times, { message, inMs: TOKEN_MS }));
  }
  if (!isWanted) return decideUntilOver(wanted, seen, now, times) ?? { do: 'beginLeave' };
  if (wanted.rebuildAskedAt === null) return decideUnrequested(wanted, seen, now, times);
  return decideAction(wanted, seen, now, times) ?? decideNode(wanted, seen, now, times);
}

function decideUnrequested(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const { currentCluster } = wanted;
  if (currentCluster === null || currentCluster.canTakeNodes) return decideRequest(wanted, seen, now, times);
  return finish(waiting(wanted, now, times, { message: waitsFor(currentCluster), inMs: CLUSTER_MS }));
}

/** The node registers a few minutes after the rebuild. The server is read only then, because each read costs the project a call. */
function decideNode(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const node = nodeOf(wanted);
  if (node === null || seen.node === 'absent') {
    const message = 'The server was rebuilt. Waiting for its node.';
    return finish(waiting(wanted, now, times, { message, inMs: NODE_MS }));
  }
  if (seen.node === null) return { do: 'readNode', node };
  const end = decideSystem(wanted, seen, now, times);
  if (end !== null) return end;
  const patch = nodePatchFor(wanted, seen.node);
  if (patch !== null) return { do: 'patchNode', node, patch };
  if (seen.node.isReady) {
    if (seen.joinEndedIn !== wanted.generation && isTokenGood(wanted, now)) return { do: 'endJoin', node };
    return finish({ ...resting('Joined', '', { to: 'stay' }, JOINED_CHECK_MS), nodeReady: true });
  }
  const message = 'The node has registered but is not Ready yet.';
  return finish(waiting(wanted, now, times, { message, inMs: NODE_MS }));
}

/** An expired token cannot be misused, so the node need not wait for its deletion. It was created before the rebuild request. */
const isTokenGood = ({ rebuildAskedAt }: WantedServer, now: Date): boolean =>
  rebuildAskedAt !== null && now.getTime() - rebuildAskedAt.getTime() < JOIN_TOKEN_MS;

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
