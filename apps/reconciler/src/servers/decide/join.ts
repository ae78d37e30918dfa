import type { Seen, ServerTimes, Step, WantedServer } from '../model.js';
import { hasToJoin, nodeOf, nodePatchFor, waitsFor } from '../node-cluster.js';
import { finish, JOIN_TOKEN_MS, JOINED_CHECK_MS, resting, TOKEN_MS, waiting } from '../verdicts.js';
import { decideAction, decideSystem, decideUntilOver } from './await-rebuild.js';
import { decideRequest } from './request-rebuild.js';

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
