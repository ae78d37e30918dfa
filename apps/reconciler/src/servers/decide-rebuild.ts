import type { ServerAction, ServerReading } from '@corral/hcloud';
import type { Seen, ServerTimes, Step, Verdict, WantedServer } from './model.js';
import { failed, progressAt, resting, waiting } from './verdicts.js';

const settle = (verdict: Verdict): Step => ({ do: 'settle', verdict });
const LOOK_MS_MIN = 1_000;
const LOOK_MS_MAX = 10_000;

/** The newest rebuild that began at that second or later; null when there was none. */
export function newestRebuildSince(actions: readonly ServerAction[], since: Date): ServerAction | null {
  const sinceMs = Math.floor(since.getTime() / 1_000) * 1_000;
  const rebuilds = actions.filter(
    ({ command, startedAt }) => command === 'rebuild_server' && startedAt.getTime() >= sinceMs,
  );
  return rebuilds.reduce<ServerAction | null>((newest, each) => (newest && newest.id > each.id ? newest : each), null);
}

/** From the moment on at which a rebuild may have been asked for: first find out whether it was, then what became of it. */
export function decideRebuild(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (wanted.rebuildActionId === null) return decideLostAnswer(wanted, seen, now, times);
  if (seen.action === null) return { do: 'readAction', actionId: wanted.rebuildActionId };
  if (seen.action !== 'absent' && seen.action.status === 'running') {
    const { progress } = seen.action;
    const done = progressAt.rebuilding + Math.floor((progress / 100) * (99 - progressAt.rebuilding));
    return settle(waiting(wanted, now, times, { message: '', inMs: lookMs(wanted, now), progress: done }));
  }
  if (seen.action !== 'absent' && seen.action.status === 'error') {
    return settle(failed('server_rebuild_failed', `The rebuild failed at the provider${codeOf(seen.action)}.`));
  }
  if (seen.server === null) return { do: 'readServer' };
  if (seen.server === 'absent') return settle(failed('server_gone', 'The server went away during its rebuild.'));
  return settle(endOf(wanted, seen.server, now, times));
}

/** Read after the action: what the server runs from decides, also about an action that the provider forgot. */
function endOf(wanted: WantedServer, server: ServerReading, now: Date, times: ServerTimes): Verdict {
  if (server.isLocked || server.status === 'rebuilding') {
    return waiting(wanted, now, times, { message: '', inMs: lookMs(wanted, now), progress: 99 });
  }
  if (server.imageId === wanted.imageId) return resting('Ready', '', { to: 'succeeded' });
  return failed(
    'server_rebuild_failed',
    'After the rebuild the server runs from another image than the one asked for.',
  );
}

/** A request whose answer nobody has may still be on its way: it is neither repeated nor given up before it cannot be. */
function decideLostAnswer(wanted: WantedServer, seen: Seen, now: Date, times: ServerTimes): Step {
  if (seen.actions === null) return { do: 'readActions' };
  const askedAt = wanted.rebuildAskedAt as Date;
  const ours = newestRebuildSince(seen.actions.list, askedAt);
  if (ours !== null) return { do: 'recordAction', actionId: ours.id };
  // Both times are the provider's, in whole seconds.
  const leftMs = askedAt.getTime() + times.rebuildGraceMs + 1_000 - seen.actions.at.getTime();
  if (leftMs <= 0) return { do: 'forgetAsk' };
  const message = 'It is not known yet whether the provider has begun the rebuild.';
  const wait = { message, inMs: Math.min(leftMs, LOOK_MS_MAX / 2), progress: progressAt.asked };
  return settle(waiting(wanted, now, times, wait));
}

/** At growing distance: a rebuild takes a minute, and each look costs the project one of its calls. */
function lookMs({ acknowledgedAt }: WantedServer, now: Date): number {
  const sinceMs = now.getTime() - acknowledgedAt.getTime();
  return Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, sinceMs / 5));
}

const codeOf = ({ errorCode }: ServerAction): string =>
  errorCode !== null && /^[a-z_]{1,64}$/.test(errorCode) ? ` (${errorCode})` : '';
