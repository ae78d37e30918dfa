import { NotAdmitted, type RequestScope, waiting } from '@corral/admission';
import type { DnsCaller } from '@corral/auth';
import { coversName, coversType } from '@corral/contracts';
import { type ActionRecord, type CheckedAction, timedOutAction } from '@corral/dns-data';
import { lookAgain } from '../rrsets/settle-writes.js';
import type { Follower, FollowUntil, Services } from '../services.js';
import { followNameServers, isPropagating, type Missing, shownAction } from './follow-name-servers.js';

/** How long a polling process may be silent before another process takes over. */
const LEASE_MS = 5_000;
/** How long an action stays wanted after a client asked. Clients ask about once per second. */
const WANTED_MS = 3_000;
/** How often this process checks for results while another process polls. */
const LOOK_MS_MIN = 25;
const LOOK_MS_MAX = 250;

/**
 * Follows actions on behalf of a client until the condition is met, the upstream is unavailable, or the signal aborts. Each process runs
 * one loop while clients wait. One process at a time asks the upstream for everything that is wanted anywhere, and the others read the
 * results from Postgres.
 */
export async function followActions(
  services: Services,
  actions: readonly ActionRecord[],
  until: FollowUntil,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const { waiting } = services.followers;
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const knownAt = new Map(actions.map(({ id, checkedAt }) => [id, checkedAt.getTime()]));
  const waiter: Follower = { until, knownAt, resolve, reject };
  const giveUp = () => release(waiting, waiter);
  signal.addEventListener('abort', giveUp);
  waiting.add(waiter);
  startLoop(services);
  await done.finally(() => signal.removeEventListener('abort', giveUp));
}

function release(waiting: Set<Follower>, waiter: Follower): void {
  waiting.delete(waiter);
  waiter.resolve();
}

function startLoop(services: Services): void {
  const { followers } = services;
  if (followers.isLooping) return;
  followers.isLooping = true;
  loop(services)
    .catch((error: unknown) => {
      for (const { reject } of followers.waiting) reject(error);
      followers.waiting.clear();
    })
    .finally(() => {
      followers.isLooping = false;
      if (followers.waiting.size > 0) startLoop(services);
    });
}

async function loop(services: Services): Promise<void> {
  const { waiting } = services.followers;
  while (waiting.size > 0) {
    const isAway = await pollOrWait(services, idsOf([...waiting]));
    // Later waiters are not in this query, so nothing is known about their actions.
    const present = [...waiting];
    const checked = new Map((await services.polls.findChecked(idsOf(present))).map((action) => [action.id, action]));
    // Without the upstream, clients get the last known state. "Still running" is accurate enough, and they ask again.
    for (const waiter of present) if (isAway || isDone(waiter, checked)) release(waiting, waiter);
  }
}

const idsOf = (waiters: readonly Follower[]): number[] => [
  ...new Set(waiters.flatMap(({ knownAt }) => [...knownAt.keys()])),
];

/** @returns whether the upstream was unavailable */
async function pollOrWait(services: Services, ids: readonly number[]): Promise<boolean> {
  const { polls, actions, upstream, pause, log, config } = services;
  const intervalMs = config.actionPollMs;
  const lease = await polls.takePoll(ids, { intervalMs, leaseMs: LEASE_MS, wantedMs: WANTED_MS });
  if (lease.kind === 'taken') {
    await pause(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, lease.waitMs)));
    return false;
  }
  const startedAt = services.now();
  const readings = await upstream.readActions(lease.ids).catch((error: Error) => {
    log.warn('actions not read', { error });
    return null;
  });
  try {
    const failed = await actions.recordActions(readings ?? []);
    // A client that sees the failed action must find the set in its actual state.
    await Promise.all(failed.map(({ entryId, key }) => lookAgain(services, entryId, key)));
  } finally {
    const restMs = Math.max(0, startedAt + intervalMs - services.now());
    await polls.endPoll(lease.until, readings === null ? [] : lease.ids, restMs);
  }
  return readings === null;
}

function isDone({ until, knownAt }: Follower, checked: ReadonlyMap<number, CheckedAction>): boolean {
  const hasEnded = (id: number): boolean => checked.get(id)?.isRunning !== true;
  if (until === 'ended') return [...knownAt.keys()].some(hasEnded);
  return [...knownAt].every(([id, at]) => hasEnded(id) || Number(checked.get(id)?.checkedAt) > at);
}

export interface Progress {
  readonly actions: readonly ActionRecord[];
  readonly isHeld: boolean;
}

/**
 * The requested actions that the caller may follow, by id, with a recent upstream state. While all of them run, it waits for the first one
 * to end, as long as reads are held. Finished actions cost no upstream call. An action also runs while name servers miss its write.
 */
export async function findActions(
  services: Services,
  caller: DnsCaller,
  ids: readonly number[],
  scope: RequestScope,
): Promise<Progress> {
  const { actions, config } = services;
  const read = async () => {
    const ofOwner = await actions.findActions(caller.ownerId, ids);
    // Actions on other sets than those that the token covers look absent.
    return ofOwner.filter(({ name, type }) => coversName(caller, name) && coversType(caller, type));
  };
  const missing: Missing = new Map();
  const shown = (found: readonly ActionRecord[]) =>
    found.map((action) => shownAction(services, action, Date.now(), missing));
  const known = await read();
  const now = Date.now();
  const propagating = known.filter((action) => isPropagating(services, action, now)).map(({ id }) => id);
  const until = untilOf(shown(known), now, config.actionPollMs);
  if (until === null) return { actions: shown(known), isHeld: false };
  const running = known.filter(({ status }) => status === 'running');
  const isHeld = await hold(services, until, scope, (signal) => [
    ...(running.length === 0 ? [] : [followActions(services, running, until, signal)]),
    ...(propagating.length === 0
      ? []
      : [followNameServers(services, { ids: propagating, ownerId: caller.ownerId }, until, { signal, missing })]),
  ]);
  if (!isHeld || scope.signal.aborted) return { actions: shown(known), isHeld };
  const fresh = await read();
  const overdue = fresh.filter((action) => isOverdue(action, Date.now(), config.actionRunningMsMax));
  if (overdue.length === 0) return { actions: shown(fresh), isHeld };
  await actions.recordActions(overdue.map((action) => timedOutAction(action, new Date())));
  return { actions: shown(await read()), isHeld };
}

/** What a read of these actions waits for; null for nothing. Pure. */
export function untilOf(known: readonly ActionRecord[], now: number, pollMs: number): FollowUntil | null {
  const running = known.filter(({ status }) => status === 'running');
  if (running.length === 0) return null;
  // The caller does not know about an end that is recorded here, so it need not wait for the other actions.
  if (running.length === known.length) return 'ended';
  return running.some((action) => isStale(action, now, pollMs)) ? 'reported' : null;
}

/**
 * Holds a read until actions change, up to the maximum time.
 *
 * @param follow the first of these ends it when an end is waited for; else all of them
 * @returns false when it is not held, because its token has too many held reads or the process drains
 */
async function hold(
  services: Services,
  until: FollowUntil,
  scope: RequestScope,
  follow: (signal: AbortSignal) => Promise<void>[],
): Promise<boolean> {
  const { draining, clock, config } = services;
  if (draining.aborted) return false;
  const over = new AbortController();
  const signal = AbortSignal.any([scope.signal, draining, over.signal]);
  const held = async (): Promise<void> => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => resolve());
    const callOff = clock.after(config.actionHoldMs, () => over.abort());
    const followed = until === 'ended' ? Promise.race(follow(signal)) : Promise.all(follow(signal));
    await Promise.race([followed, aborted]).finally(callOff);
    over.abort();
  };
  try {
    await waiting(scope, held);
    return true;
  } catch (error) {
    if (error instanceof NotAdmitted) return false;
    throw error;
  }
}

function isStale({ status, checkedAt }: ActionRecord, now: number, intervalMs: number): boolean {
  return status === 'running' && now - checkedAt.getTime() >= intervalMs;
}

function isOverdue({ status, startedAt }: ActionRecord, now: number, runningMsMax: number): boolean {
  return status === 'running' && now - startedAt.getTime() > runningMsMax;
}
