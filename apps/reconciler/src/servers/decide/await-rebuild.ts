import type { ServerAction, ServerReading } from '@corral/hcloud';
import type { Seen, ServerTimes, Step, WantedServer } from '../model.js';
import { failed, finish, isAdoption, progressAt, waiting } from '../verdicts.js';

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
 * After a rebuild may have been requested: finds out whether it was, and then what became of it.
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
