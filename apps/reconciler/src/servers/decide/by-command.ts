import { DAY_MS, finish, JOINED_CHECK_MS, progressAt, resting, waiting } from '../judge.js';
import type { Seen, ServerTimes, Step, Verdict, WaitReason, WantedServer } from '../model.js';
import { hasToJoin, nodeOf, nodePatchFor, waitsFor } from '../model.js';
import { decideFailed, decideJoined } from './check.js';
import { decideDrain } from './join.js';

const CLUSTER_MS = 15_000;
const NODE_MS = 10_000;
const AWAITED_MS_MIN = 5_000;
const AWAITED_MS_MAX = 60_000;

/**
 * Chooses the next step for a machine that Corral cannot rebuild. No provider is involved. Its adoption succeeds once it is a node.
 * Until then a node pool has to use it, and its owner has to run its join command.
 */
export function decideByCommand(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  switch (wanted.phase) {
    case 'Adopting':
    case 'Ready':
      return decideIdle(wanted, now, times);
    case 'Joining':
      return decideAwaited(wanted, seen, now, times);
    case 'Joined':
      return decideJoined(wanted, seen, now);
    case 'Leaving':
      return decideLeaving(wanted, seen, now, times);
    case 'Failed':
      return decideFailed(wanted, seen, now, times);
    // Only reached through a rebuild or a provider.
    case 'Rebuilding':
    case 'Missing':
    case 'Deregistering':
      return finish(resting(wanted.phase, wanted.message, { to: 'stay' }, null));
  }
}

function decideIdle(wanted: WantedServer, now: Date, times: ServerTimes): Step {
  // Acknowledged again while joining a cluster: its old Node must be removed first.
  if (wanted.nodeName !== null) return { do: 'beginLeave' };
  const { claim, kind, serverId } = wanted;
  if (claim === null) return finish(unclaimed(wanted, now, times));
  const { cluster } = claim;
  if (cluster.canTakeNodes) return { do: 'beginJoin', cluster, nodeName: `${kind}-${serverId}` };
  const wait = { message: waitsFor(cluster), inMs: CLUSTER_MS, progress: progressAt.labelled };
  return finish(waiting(wanted, now, times, { ...wait, reason: 'ClusterNotReady' }));
}

const unclaimedSentence = 'No node pool uses the machine yet. Its join command is available once a pool does.';
const wipeSentence =
  'The machine has left its cluster. Its owner must wipe it: the service cannot, and until then the machine keeps its node credentials and data.';

function unclaimed(wanted: WantedServer, now: Date, times: ServerTimes): Verdict {
  if (!wanted.isAdopting) return resting('Ready', wipeSentence, { to: 'stay' }, null);
  // The next pass is due when the time limit ends.
  const leftMs = wanted.acknowledgedAt.getTime() + times.commandMsMax - now.getTime();
  const inMs = Math.max(1_000, Math.min(DAY_MS, leftMs + 1_000));
  const message = wanted.message === wipeSentence ? wipeSentence : unclaimedSentence;
  return waiting(wanted, now, times, { message, inMs, reason: 'NoNodePool' });
}

function decideAwaited(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (!hasToJoin(wanted)) return { do: 'beginLeave' };
  const { currentCluster } = wanted;
  const node = nodeOf(wanted);
  const wait = (message: string, reason: WaitReason, inMs: number): Step =>
    finish(waiting(wanted, now, times, { message, reason, inMs, progress: progressAt.requested }));
  if (node === null || currentCluster?.canTakeNodes !== true) {
    return wait(currentCluster === null ? '' : waitsFor(currentCluster), 'ClusterNotReady', CLUSTER_MS);
  }
  if (seen.node === null) return { do: 'readNode', node };
  if (seen.node === 'absent') return wait(awaitedSentence, 'MachineAwaited', awaitedMs(wanted, now));
  const patch = nodePatchFor(wanted, seen.node);
  if (patch !== null) return { do: 'patchNode', node, patch };
  if (!seen.node.isReady) return wait('The node has registered but is not Ready yet.', 'NodeNotReady', NODE_MS);
  if (seen.joinEndedIn !== wanted.generation) return { do: 'endJoin', node };
  const operation = wanted.isAdopting ? ({ to: 'succeeded' } as const) : ({ to: 'stay' } as const);
  return finish({ ...resting('Joined', '', operation, JOINED_CHECK_MS), nodeReady: true });
}

const awaitedSentence =
  'Waiting for the machine. An administrator of the team must request its join command and run it on the freshly installed machine.';

/** Growing delays, because an owner takes minutes or days. Requesting a command makes the machine due immediately. */
const awaitedMs = ({ begunAt }: WantedServer, now: Date): number =>
  Math.min(AWAITED_MS_MAX, Math.max(AWAITED_MS_MIN, (now.getTime() - begunAt.getTime()) / 10));

/** Drains the machine, then deletes its Node and its tokens. Its owner must wipe the disk. */
function decideLeaving(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  const drain = decideDrain(wanted, seen, now, times);
  if (drain !== null) return drain;
  const node = nodeOf(wanted);
  const isThere = node !== null && wanted.currentCluster?.isDeleting === false;
  if (isThere && seen.joinEndedIn !== wanted.generation) return { do: 'endJoin', node };
  return finish(left(wanted, now, times));
}

function left(wanted: WantedServer, now: Date, times: ServerTimes): Verdict {
  const phase = wanted.isAdopting ? 'Adopting' : 'Ready';
  const verdict = unclaimed({ ...wanted, phase, message: wipeSentence }, now, times);
  const nextPassMs = wanted.claim === null ? verdict.nextPassMs : 0;
  return { ...verdict, nextPassMs, nodeReady: false, hasLeftCluster: true };
}
