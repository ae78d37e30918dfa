import { type ServerErrorCode, serverLabels } from '@corral/contracts';
import type { ServerAction, ServerReading } from '@corral/hcloud';
import { failed, finish, isAdoption, progressAt, resting, waiting } from '../judge.js';
import { nodeOf, type Seen, type ServerTimes, type Step, type WantedServer, waitsFor } from '../model.js';

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

const POLL_MS_MIN = 1_000;
const POLL_MS_MAX = 10_000;

/** The newest rebuild that started in or after the second of `since`, or null. */
export function newestRebuildSince(actions: readonly ServerAction[], since: Date): ServerAction | null {
  const sinceMs = Math.floor(since.getTime() / 1_000) * 1_000;
  const rebuilds = actions.filter(
    ({ command, startedAt }) => command === 'rebuild_server' && startedAt.getTime() >= sinceMs,
  );
  return rebuilds.reduce<ServerAction | null>((newest, each) => (newest && newest.id > each.id ? newest : each), null);
}

/**
 * Finds out whether a rebuild that may have been requested was, and then what became of it.
 *
 * @returns null when the server runs the requested image
 */
export function decideRebuild(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step | null {
  return decideAction(wanted, seen, now, times) ?? decideSystem(wanted, seen, now, times);
}

/** @returns null when no rebuild is in progress, whatever its outcome */
export function decideUntilOver(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step | null {
  if (wanted.rebuildAskedAt === null) return null;
  if (wanted.rebuildActionId === null) return decideLostAnswer(wanted, wanted.rebuildAskedAt, seen, now, times);
  if (seen.action === null) return { do: 'readAction', actionId: wanted.rebuildActionId };
  if (seen.action === 'absent' || seen.action.status !== 'running') return null;
  const done = progressAt.rebuilding + Math.floor((seen.action.progress / 100) * (99 - progressAt.rebuilding));
  return finish(waiting(wanted, now, times, { message: '', inMs: pollMs(wanted, now), progress: done }));
}

/** @returns null when the provider's action ended without an error, or the provider no longer knows it */
export function decideAction(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step | null {
  const step = decideUntilOver(wanted, seen, now, times);
  if (step !== null || seen.action === null || seen.action === 'absent') return step;
  if (seen.action.status !== 'error') return null;
  const message = `The rebuild failed at the provider${codeOf(seen.action)}.`;
  return finish(failed(wanted, 'server_rebuild_failed', message));
}

/** Read after the action. The server's image decides, also for an action that the provider no longer knows. */
export function decideSystem(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step | null {
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return goneDuringRebuild(wanted);
  return decideEnd(wanted, seen.server, now, times);
}

/** A leaving server that is gone starts over. A new generation decides what happens if it comes back. */
function goneDuringRebuild(wanted: WantedServer): Step {
  if (wanted.phase === 'Leaving') return { do: 'beginLeave' };
  return finish(failed(wanted, 'server_gone', 'The server was deleted during its rebuild.'));
}

function decideEnd(wanted: WantedServer, server: ServerReading, now: Date, times: ServerTimes): Step | null {
  if (server.isLocked || server.status === 'rebuilding') {
    return finish(waiting(wanted, now, times, { message: '', inMs: pollMs(wanted, now), progress: 99 }));
  }
  if (server.imageId === wanted.imageId) return null;
  const message = 'After the rebuild the server runs a different image than requested.';
  return finish(failed(wanted, 'server_rebuild_failed', message));
}

/** A request with a lost response may still arrive. It is neither repeated nor given up until that is impossible. */
function decideLostAnswer(wanted: WantedServer, askedAt: Date, seen: Seen, now: Date, times: ServerTimes): Step {
  if (seen.actions === null) return { do: 'readActions' };
  const ours = newestRebuildSince(seen.actions.list, askedAt);
  if (ours !== null) return { do: 'recordAction', actionId: ours.id };
  // Both times are by the provider's clock, in whole seconds.
  const leftMs = askedAt.getTime() + times.rebuildGraceMs + 1_000 - seen.actions.at.getTime();
  if (leftMs <= 0) return { do: 'forgetRequest' };
  const message = 'It is not yet known whether the provider has started the rebuild.';
  const inMs = Math.min(leftMs, POLL_MS_MAX / 2);
  return finish(
    waiting(wanted, now, times, { message, reason: 'OutcomeUnknown', inMs, progress: progressAt.requested }),
  );
}

/** Growing delays: a rebuild takes about a minute, and each read costs the project a call. */
function pollMs(wanted: WantedServer, now: Date): number {
  const since = isAdoption(wanted) ? wanted.acknowledgedAt : wanted.begunAt;
  return Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, (now.getTime() - since.getTime()) / 5));
}

const codeOf = ({ errorCode }: ServerAction): string =>
  errorCode !== null && /^[a-z_]{1,64}$/.test(errorCode) ? ` (${errorCode})` : '';
