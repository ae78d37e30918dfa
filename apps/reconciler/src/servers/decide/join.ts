import type { Seen, ServerTimes, Step, WantedServer } from '../model.js';
import { hasToJoin, missingMarks, nodeOf, waitsFor } from '../node-cluster.js';
import { JOIN_TOKEN_MS, JOINED_LOOK_MS, resting, settle, TOKEN_MS, waiting } from '../verdicts.js';
import { decideAction, decideSystem, decideUntilOver } from './await-rebuild.js';
import { decideAsk } from './request-rebuild.js';

const CLUSTER_MS = 15_000;
const NODE_MS = 10_000;

/**
 * Joining a cluster: a rebuild with join data, and then the node that registers. Hibernation outlasts the join data, so the
 * server starts over when the cluster is resumed.
 */
export function decideJoining(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const goesOn = hasToJoin(wanted) && wanted.member?.isAsleep === false;
  if (!goesOn && wanted.rebuildAskedAt === null) return { do: 'beginLeave' };
  if (wanted.connection.phase === 'Rejected') {
    const message = 'The provider rejects the token of the connection.';
    return settle(waiting(wanted, now, times, { message, inMs: TOKEN_MS }));
  }
  if (!goesOn) return decideUntilOver(wanted, seen, now, times) ?? { do: 'beginLeave' };
  if (wanted.rebuildAskedAt === null) return decideUnasked(wanted, seen, now, times);
  return decideAction(wanted, seen, now, times) ?? decideNode(wanted, seen, now, times);
}

function decideUnasked(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const { member } = wanted;
  if (member === null || member.canTakeNodes) return decideAsk(wanted, seen, now, times);
  return settle(waiting(wanted, now, times, { message: waitsFor(member), inMs: CLUSTER_MS }));
}

/** The node registers a few minutes after the rebuild. The server is read only then, because each look costs the project a call. */
function decideNode(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const node = nodeOf(wanted);
  if (node === null || seen.node === 'absent') {
    const message = 'The server was rebuilt. Waiting for its node.';
    return settle(waiting(wanted, now, times, { message, inMs: NODE_MS }));
  }
  if (seen.node === null) return { do: 'readNode', node };
  const end = decideSystem(wanted, seen, now, times);
  if (end !== null) return end;
  const marks = missingMarks(wanted, seen.node);
  if (marks !== null) return { do: 'markNode', node, marks };
  if (seen.node.isReady) {
    if (seen.joinEndedIn !== wanted.generation && isTokenGood(wanted, now)) return { do: 'endJoin', node };
    return settle({ ...resting('Joined', '', { to: 'stay' }, JOINED_LOOK_MS), nodeReady: true });
  }
  const message = 'The node has registered but is not Ready yet.';
  return settle(waiting(wanted, now, times, { message, inMs: NODE_MS }));
}

/** An expired token cannot be misused, so the node need not wait for its deletion. It was created before the rebuild request. */
const isTokenGood = ({ rebuildAskedAt }: WantedServer, now: Date): boolean =>
  rebuildAskedAt !== null && now.getTime() - rebuildAskedAt.getTime() < JOIN_TOKEN_MS;
