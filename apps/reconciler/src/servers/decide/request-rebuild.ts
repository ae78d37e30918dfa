import { type ServerErrorCode, serverLabels } from '@corral/contracts';
import type { ServerReading } from '@corral/hcloud';
import type { Seen, ServerTimes, Step, WantedServer } from '../model.js';
import { nodeOf, waitsFor } from '../node-cluster.js';
import { failed, finish, progressAt, resting, waiting } from '../verdicts.js';
import { newestRebuildSince } from './await-rebuild.js';

const SOON_MS = 1_000;
const LOCKED_MS = 5_000;

/** Everything to check and do before a rebuild is requested, in this order, and the request itself. */
export function decideRequest(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return gone(wanted);
  const blocker = blockerOf(wanted, seen.server);
  if (blocker?.kind === 'fails') return finish(failed(wanted, blocker.code, blocker.message));
  if (blocker?.kind === 'passes') {
    const { message } = blocker;
    const wait = { message, reason: 'ServerBusy', inMs: LOCKED_MS, code: 'server_locked' } as const;
    return finish(waiting(wanted, now, times, wait));
  }
  return decideUnblocked(wanted, seen, seen.server, now, times);
}

/** A leaving server that no longer exists needs no rebuild: it has left its cluster. In other phases it fails. */
function gone(wanted: WantedServer): Step {
  const message = 'The cloud project has no such server.';
  if (wanted.phase !== 'Leaving') return finish(failed(wanted, 'server_gone', message));
  return finish({ ...resting('Missing', `${message} Deregister it here.`, { to: 'stay' }), hasLeftCluster: true });
}

function decideUnblocked(wanted: WantedServer, seen: Seen, server: ServerReading, now: Date, times: ServerTimes): Step {
  if (server.labels[serverLabels.claim] !== wanted.claimToken) return putLabel(wanted, server);
  if (wanted.labelledAt === null) return { do: 'recordLabel' };
  if (seen.image === null) return { do: 'findImage' };
  if (seen.image === 'absent') {
    return finish(failed(wanted, 'server_image_missing', `The provider has no image for ${wanted.architecture}.`));
  }
  if (seen.image.diskGb > server.diskGb) {
    const message = `The disk of the server has ${server.diskGb} GB, and the image needs ${seen.image.diskGb} GB.`;
    return finish(failed(wanted, 'server_disk_too_small', message));
  }
  if (seen.actions === null) return { do: 'readActions' };
  // Times have a resolution of one second: an earlier rebuild in the same second could be mistaken for ours after a crash.
  const isTooClose = newestRebuildSince(seen.actions.list, seen.actions.at) !== null;
  if (isTooClose || seen.actions.list.some(({ status }) => status === 'running')) {
    const wait = { message: 'Another action is running on the server.', reason: 'ServerBusy', inMs: SOON_MS } as const;
    return finish(waiting(wanted, now, times, { ...wait, progress: progressAt.labelled, code: 'server_locked' }));
  }
  if (wanted.phase === 'Joining' && seen.joinUserData === null) return prepareJoin(wanted, now, times);
  return { do: 'requestRebuild', askedAt: seen.actions.at, imageId: seen.image.id };
}

function prepareJoin(wanted: WantedServer, now: Date, times: ServerTimes): Step {
  const { currentCluster } = wanted;
  const node = nodeOf(wanted);
  if (node !== null && currentCluster?.canTakeNodes === true) return { do: 'prepareJoin', node };
  const message = currentCluster === null ? '' : waitsFor(currentCluster);
  return finish(waiting(wanted, now, times, { message, inMs: LOCKED_MS }));
}

/** Keeps foreign labels, because the provider replaces all labels together. */
export const putLabel = ({ claimToken }: WantedServer, { labels }: ServerReading): Step => ({
  do: 'putLabel',
  labels: { ...labels, [serverLabels.claim]: claimToken },
});

type Blocker =
  | { readonly kind: 'fails'; readonly code: ServerErrorCode; readonly message: string }
  /** Resolves itself. */
  | { readonly kind: 'passes'; readonly message: string };

const fails = (code: ServerErrorCode, message: string): Blocker => ({ kind: 'fails', code, message });

/** Why the server must not be rebuilt in its current state, or null. */
function blockerOf(wanted: WantedServer, server: ServerReading): Blocker | null {
  const { labels } = server;
  if (Object.hasOwn(labels, serverLabels.clusterNode)) {
    return fails(
      'server_claimed_elsewhere',
      `The label ${serverLabels.clusterNode} marks the server as a node of a cluster.`,
    );
  }
  const claim = labels[serverLabels.claim];
  if (claim !== undefined && claim !== wanted.claimToken) {
    return fails('server_claimed_elsewhere', `The label ${serverLabels.claim} belongs to another adoption.`);
  }
  for (const field of ['serverType', 'location', 'architecture'] as const) {
    if (server[field] === wanted[field]) continue;
    return fails(
      'server_changed',
      `The ${field} of the server is ${server[field]}, but ${wanted[field]} was acknowledged.`,
    );
  }
  if (server.isRebuildProtected) return fails('server_protected', 'The server is protected against rebuilds.');
  if (server.isInRescue) return fails('server_in_rescue', 'The rescue system of the server is enabled.');
  if (server.hasIso) return fails('server_iso_mounted', 'An ISO image is mounted on the server.');
  if (server.isLocked)
    return { kind: 'passes', message: 'The provider has locked the server because an action is running on it.' };
  if (server.status !== 'running' && server.status !== 'off') {
    return { kind: 'passes', message: `The provider is busy with the server: ${statusOf(server)}.` };
  }
  return null;
}

/** The provider's status if it is a plain word. */
const statusOf = ({ status }: ServerReading): string => (/^[a-z_]{1,32}$/.test(status) ? status : 'unknown');
