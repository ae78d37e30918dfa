import { serverLabels } from '@corral/contracts';
import type { ServerReading } from '@corral/hcloud';
import { blockerOf } from './blockers.js';
import { decideRebuild, newestRebuildSince } from './decide-rebuild.js';
import type { Seen, ServerTimes, Step, Verdict, WantedServer } from './model.js';
import { failed, progressAt, resting, waiting } from './verdicts.js';

const settle = (verdict: Verdict): Step => ({ do: 'settle', verdict });
const SOON_MS = 1_000;
const LOCKED_MS = 5_000;
const TOKEN_MS = 60_000;
/** A provider that does not let us detach a server for so long is not waited for: the label stays. */
const DEREGISTER_MS_MAX = 86_400_000;

/**
 * Chooses the one next step. Pure and total: it depends on what the row has and what this pass has seen, so it is the
 * same after a crash.
 *
 * @param now the database's clock
 */
export function decide(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (wanted.deregisterRequestedAt !== null)
    return decideDeregistration(wanted, seen, now, wanted.deregisterRequestedAt);
  switch (wanted.phase) {
    case 'Adopting':
    case 'Rebuilding':
      return decideAdoption(wanted, seen, now, times);
    case 'Ready':
    case 'Missing':
      return decideLook(wanted, seen);
    case 'Failed':
    case 'Deregistering':
      return settle(resting(wanted.phase, '', { to: 'stay' }, null));
  }
}

function decideAdoption(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (wanted.connection.phase === 'Rejected') {
    const message = 'The provider rejects the token of the connection.';
    if (wanted.rebuildAskedAt === null) return settle(failed('server_token_rejected', message));
    const wait = { message, inMs: TOKEN_MS, progress: progressAt.asked, code: 'server_token_rejected' } as const;
    return settle(waiting(wanted, now, times, wait));
  }
  if (wanted.rebuildAskedAt !== null) return decideRebuild(wanted, seen, now, times);
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return settle(failed('server_gone', 'The cloud project has no such server.'));
  const blocker = blockerOf(wanted, seen.server);
  if (blocker?.kind === 'fails') return settle(failed(blocker.code, blocker.message));
  if (blocker?.kind === 'passes') {
    const { message } = blocker;
    const wait = { message, inMs: LOCKED_MS, progress: progressAt.begun, code: 'server_locked' } as const;
    return settle(waiting(wanted, now, times, wait));
  }
  return decideBeforeAsking(wanted, seen, seen.server, now, times);
}

function decideBeforeAsking(
  wanted: WantedServer,
  seen: Seen,
  server: ServerReading,
  now: Date,
  times: ServerTimes,
): Step {
  if (server.labels[serverLabels.claim] !== wanted.claimToken) {
    return { do: 'putClaim', labels: { ...server.labels, [serverLabels.claim]: wanted.claimToken } };
  }
  if (wanted.claimedAt === null) return { do: 'recordClaim' };
  if (seen.image === null) return { do: 'findImage' };
  if (seen.image === 'absent') {
    return settle(failed('server_image_missing', `The provider has no image for ${wanted.architecture}.`));
  }
  if (seen.image.diskGb > server.diskGb) {
    const message = `The disk of the server has ${server.diskGb} GB, and the image needs ${seen.image.diskGb} GB.`;
    return settle(failed('server_disk_too_small', message));
  }
  if (seen.actions === null) return { do: 'readActions' };
  // Times are whole seconds: an earlier rebuild of this second could be taken for ours after a crash.
  const isTooClose = newestRebuildSince(seen.actions.list, seen.actions.at) !== null;
  if (isTooClose || seen.actions.list.some(({ status }) => status === 'running')) {
    const wait = { message: 'Something else runs on the server.', inMs: SOON_MS, progress: progressAt.claimed };
    return settle(waiting(wanted, now, times, { ...wait, code: 'server_locked' }));
  }
  return { do: 'askRebuild', askedAt: seen.actions.at, imageId: seen.image.id };
}

function decideDeregistration(wanted: WantedServer, seen: Seen, now: Date, requestedAt: Date): Step {
  if (wanted.connection.phase === 'Rejected') return { do: 'forget' };
  if (now.getTime() - requestedAt.getTime() > DEREGISTER_MS_MAX) return { do: 'forget' };
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return { do: 'forget' };
  const { [serverLabels.claim]: claim, ...labels } = seen.server.labels;
  return claim === wanted.claimToken ? { do: 'removeClaim', labels } : { do: 'forget' };
}

/** Servers go without telling anybody, and come back when somebody moves them. */
function decideLook(wanted: WantedServer, seen: Seen): Step {
  if (wanted.connection.phase === 'Rejected') {
    const message = 'The provider rejects the token of the connection, so nobody knows how the server is.';
    return settle(resting(wanted.phase, message, { to: 'stay' }));
  }
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') {
    const message = 'The cloud project does not have the server any more. Deregister it here.';
    return settle(resting('Missing', message, { to: 'stay' }));
  }
  return settle(resting('Ready', '', { to: 'stay' }));
}
