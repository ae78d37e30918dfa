import { serverLabels } from '@corral/contracts';
import type { ServerReading } from '@corral/hcloud';
import { blockerOf } from './blockers.js';
import { newestRebuildSince } from './decide-rebuild.js';
import { nodeOf, waitsFor } from './membership.js';
import type { Seen, ServerTimes, Step, WantedServer } from './model.js';
import { failed, progressAt, resting, settle, waiting } from './verdicts.js';

const SOON_MS = 1_000;
const LOCKED_MS = 5_000;

/** All that has to be known and done before a rebuild is asked for, in that order, and the question itself. */
export function decideAsk(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return gone(wanted);
  const blocker = blockerOf(wanted, seen.server);
  if (blocker?.kind === 'fails') return settle(failed(wanted, blocker.code, blocker.message));
  if (blocker?.kind === 'passes') {
    const { message } = blocker;
    const wait = { message, reason: 'ServerBusy', inMs: LOCKED_MS, code: 'server_locked' } as const;
    return settle(waiting(wanted, now, times, wait));
  }
  return decideUnblocked(wanted, seen, seen.server, now, times);
}

/** Of a server that is to leave and is gone there is nothing left to rebuild: what can be missed is no node any more. */
function gone(wanted: WantedServer): Step {
  const message = 'The cloud project has no such server.';
  if (wanted.phase !== 'Leaving') return settle(failed(wanted, 'server_gone', message));
  return settle({ ...resting('Missing', `${message} Deregister it here.`, { to: 'stay' }), endsMembership: true });
}

function decideUnblocked(wanted: WantedServer, seen: Seen, server: ServerReading, now: Date, times: ServerTimes): Step {
  if (server.labels[serverLabels.claim] !== wanted.claimToken) return putClaim(wanted, server);
  if (wanted.claimedAt === null) return { do: 'recordClaim' };
  if (seen.image === null) return { do: 'findImage' };
  if (seen.image === 'absent') {
    return settle(failed(wanted, 'server_image_missing', `The provider has no image for ${wanted.architecture}.`));
  }
  if (seen.image.diskGb > server.diskGb) {
    const message = `The disk of the server has ${server.diskGb} GB, and the image needs ${seen.image.diskGb} GB.`;
    return settle(failed(wanted, 'server_disk_too_small', message));
  }
  if (seen.actions === null) return { do: 'readActions' };
  // Times are whole seconds: an earlier rebuild of this second could be taken for ours after a crash.
  const isTooClose = newestRebuildSince(seen.actions.list, seen.actions.at) !== null;
  if (isTooClose || seen.actions.list.some(({ status }) => status === 'running')) {
    const wait = { message: 'Another action is running on the server.', reason: 'ServerBusy', inMs: SOON_MS } as const;
    return settle(waiting(wanted, now, times, { ...wait, progress: progressAt.claimed, code: 'server_locked' }));
  }
  if (wanted.phase === 'Joining' && seen.joinUserData === null) return prepareJoin(wanted, now, times);
  return { do: 'askRebuild', askedAt: seen.actions.at, imageId: seen.image.id };
}

function prepareJoin(wanted: WantedServer, now: Date, times: ServerTimes): Step {
  const { member } = wanted;
  const node = nodeOf(wanted);
  if (node !== null && member?.canTakeNodes === true) return { do: 'prepareJoin', node };
  const message = member === null ? '' : waitsFor(member);
  return settle(waiting(wanted, now, times, { message, inMs: LOCKED_MS }));
}

/** Others' labels stay: the provider only replaces all of them. */
export const putClaim = ({ claimToken }: WantedServer, { labels }: ServerReading): Step => ({
  do: 'putClaim',
  labels: { ...labels, [serverLabels.claim]: claimToken },
});
