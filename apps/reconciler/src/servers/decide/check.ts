import { joinsByCommand, serverLabels } from '@corral/contracts';
import { DAY_MS, finish, JOINED_CHECK_MS, resting, TOKEN_MS } from '../judge.js';
import type { NodeCluster, Seen, ServerTimes, Step, Verdict, WantedServer } from '../model.js';
import { hasToJoin, nodeNameFor, nodeOf, nodePatchFor, waitsFor } from '../model.js';
import { decideUntilOver, putLabel } from './rebuild.js';

const CLUSTER_MS = 15_000;
const rejectedSentence = 'The provider rejects the token of the connection, so the state of the server is unknown.';

/** Checks whether the server still exists before it serves a claim. Servers disappear without notice. */
export function decideReady(wanted: WantedServer, seen: Seen, now: Date): Step {
  // Adopted again while it was a node: its old Node must be removed first.
  if (wanted.nodeName !== null) return { do: 'beginLeave' };
  if (wanted.connection.phase === 'Rejected') return finish(resting('Ready', rejectedSentence, { to: 'stay' }));
  const cluster = wanted.claim?.cluster ?? null;
  const waitsForCluster = cluster !== null && !cluster.canTakeNodes;
  if (waitsForCluster && seen.server === null && !isCheckDue(wanted, now)) return finish(readyFor(cluster));
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return finish(missing);
  if (!Object.hasOwn(seen.server.labels, serverLabels.claim)) return putLabel(wanted, seen.server);
  if (seen.server.labels[serverLabels.claim] !== wanted.claimToken) return finish(labelledElsewhere(wanted));
  if (cluster === null) return finish(resting('Ready', '', { to: 'stay' }));
  if (!cluster.canTakeNodes) return finish(readyFor(cluster));
  return { do: 'beginJoin', cluster, nodeName: nodeNameFor(seen.server.name, wanted.serverId) };
}

const readyFor = (cluster: NodeCluster): Verdict => resting('Ready', waitsFor(cluster), { to: 'stay' }, CLUSTER_MS);

const missingSentence = 'The cloud project no longer has the server.';
const missing = resting('Missing', `${missingSentence} Deregister it here.`, { to: 'stay' });

const elsewhereSentence = `The label ${serverLabels.claim} at the provider belongs to somebody else.`;
const labelledElsewhere = ({ phase, claim }: WantedServer): Verdict =>
  resting(phase, elsewhereSentence, { to: 'stay' }, claim === null ? DAY_MS : TOKEN_MS);

/** A missing server may be moved back. */
export function decideMissing(wanted: WantedServer, seen: Seen): Step {
  const { nodeName, purpose, rebuildActionId, connection, claim } = wanted;
  if (nodeName !== null && !hasToJoin(wanted)) return { do: 'beginLeave' };
  if (connection.phase === 'Rejected') return finish(resting('Missing', rejectedSentence, { to: 'stay' }));
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return finish({ ...missing, nodeReady: false });
  if (nodeName !== null) return finish(resting('Joined', '', { to: 'stay' }, 0));
  if (purpose === 'leave' && rebuildActionId === null) {
    const message = 'The server is back, but still has its state as a node of a cluster. Adopt it again.';
    return finish(resting('Failed', message, { to: 'stay' }, null));
  }
  return finish(resting('Ready', '', { to: 'stay' }, claim === null ? DAY_MS : 0));
}

/** Checks the node each time, and the server when its last reading is a day old. */
export function decideJoined(wanted: WantedServer, seen: Seen, now: Date): Step {
  if (!hasToJoin(wanted)) return { do: 'beginLeave' };
  return decideNode(wanted, seen) ?? decideServer(wanted, seen, now) ?? finish(joined(wanted, seen));
}

function decideNode(wanted: WantedServer, seen: Seen): Step | null {
  const node = nodeOf(wanted);
  if (node === null || wanted.currentCluster?.isHibernated === true || seen.node === 'absent') return null;
  if (seen.node === null) return { do: 'readNode', node };
  const patch = nodePatchFor(wanted, seen.node);
  return patch === null ? null : { do: 'patchNode', node, patch };
}

function decideServer(wanted: WantedServer, seen: Seen, now: Date): Step | null {
  if (joinsByCommand(wanted.kind) || wanted.connection.phase === 'Rejected') return null;
  if (seen.server === null) return isCheckDue(wanted, now) ? { do: 'readServer' } : null;
  if (seen.server === 'absent')
    return finish({ ...resting('Missing', missingSentence, { to: 'stay' }), nodeReady: false });
  return Object.hasOwn(seen.server.labels, serverLabels.claim) ? null : putLabel(wanted, seen.server);
}

function joined(wanted: WantedServer, { node, server }: Seen): Verdict {
  const nodeReady = node !== null && node !== 'absent' && node.isReady;
  const rest = (message: string): Verdict => ({
    ...resting('Joined', message, { to: 'stay' }, JOINED_CHECK_MS),
    nodeReady,
  });
  if (node === null) return rest('The cluster is hibernated, so the state of the node is unknown.');
  if (node === 'absent') return rest('The cluster no longer has the node.');
  if (!node.isReady) return rest('The node is not Ready.');
  if (joinsByCommand(wanted.kind)) return rest('');
  if (wanted.connection.phase === 'Rejected') return rest(rejectedSentence);
  const claim = server === null || server === 'absent' ? wanted.claimToken : server.labels[serverLabels.claim];
  return rest(claim === wanted.claimToken ? '' : elsewhereSentence);
}

/** A failed server stays Failed while it is claimed, and leaves afterwards. */
export function decideFailed(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const { message, nodeName, connection, rebuildAskedAt } = wanted;
  if (nodeName === null || hasToJoin(wanted)) return finish(resting('Failed', message, { to: 'stay' }, null));
  if (connection.phase === 'Rejected' && rebuildAskedAt !== null) {
    return finish(resting('Failed', message, { to: 'stay' }, TOKEN_MS));
  }
  return decideUntilOver(wanted, seen, now, times) ?? { do: 'beginLeave' };
}

const isCheckDue = ({ observedAt }: WantedServer, now: Date): boolean =>
  observedAt === null || now.getTime() - observedAt.getTime() >= DAY_MS;
