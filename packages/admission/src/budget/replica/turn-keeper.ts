import { type BucketName, isForTeam } from '../account/call-class.js';
import type { Forecast } from '../account/forecast.js';
import type { Observation, Statement } from '../account/observe.js';
import type { BudgetGrant, Report } from '../account/renew-lease.js';
import { type Refusal, refusals } from './refusals.js';
import { type Want, waitingRoom } from './waiting-room.js';

/** The right to make one call. It has to be given back with `end`. */
export interface Turn {
  readonly bucket: BucketName;
  readonly flow: string;
  readonly epoch: string | null;
  readonly endedBefore: number;
}

export type CallEnd =
  | { readonly kind: 'answered'; readonly statement: Statement | null }
  | { readonly kind: 'refused'; readonly statement: Statement | null; readonly retryAfterMs: number | null }
  /** no answer, but the upstream may have counted it */
  | { readonly kind: 'lost' }
  /** it never reached the upstream, which did not count it */
  | { readonly kind: 'unreached' };

export type Asked =
  | { readonly kind: 'go'; readonly turn: Turn }
  | { readonly kind: 'wait'; readonly id: number }
  /** Its turn would come too late: a refusal with a time follows. */
  | { readonly kind: 'refuse'; readonly id: number }
  | Omit<Refusal, 'id'>;

export type Decided = { readonly kind: 'go'; readonly id: number; readonly turn: Turn } | Refusal;

/** What a report does not say about the replica itself: see `Report`. */
export type Findings = Omit<Report, 'replica' | 'newEpoch' | 'madeAlone'>;

/** Times between reports: while requests wait, while there is something to report, and as a sign of life. */
const WAITING_MS_MIN = 50;
const WAITING_MS_MAX = 250;
const BUSY_MS = 1_000;
const IDLE_MS = 10_000;
/** A forecast is a guess about a moment: it must not refuse anybody for longer. */
const FORECAST_MS = 500;
/**
 * After an account was lost, the others bring their promises to the new one with their next report but one. Until then nobody is
 * refused before the end of their patience: it may be their promised time.
 */
const GATHERING_MS = 2 * BUSY_MS;

/**
 * What one replica knows of the budget: who waits here, and what its lease allows. Makes no call, has no clock: times
 * in milliseconds on any clock that never goes back.
 */
export function turnKeeper() {
  const room = waitingRoom();
  const leaving = refusals(FORECAST_MS);
  let lease: BudgetGrant | null = null;
  let free = { calls: 0, handedOut: 0, validUntil: 0 };
  let forecastsAt = Number.NEGATIVE_INFINITY;
  let gatheringUntil = Number.NEGATIVE_INFINITY;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let underWay = 0;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let isUrgent = true;
  // The first report asks for free calls, so that the first request need not wait.
  let unreported = { ...nothingToReport(), wantsFree: true };

  const turnOf = (bucket: BucketName, flow: string): Turn => {
    underWay += 1;
    return { bucket, flow, epoch: lease?.epoch ?? null, endedBefore: lease?.ended ?? 0 };
  };

  const takeFree = ({ class: callClass, flow }: Want, now: number): Turn | null => {
    const isFree = free.calls > 0 && now < free.validUntil && now >= pausedUntil;
    if (!isFree || callClass === 'sync' || room.isWaiting(flow)) return null;
    free.calls -= 1;
    unreported.used[flow] = (unreported.used[flow] ?? 0) + 1;
    unreported.wantsFree = true;
    return turnOf('common', flow);
  };

  /** How long it takes until the request at this position of its flow has its turn, as far as is known. */
  const forecastMs = ({ class: callClass, flow }: Want, position: number, now: number): number => {
    const isFor = (of: Forecast): boolean => of.class === callClass && of.flow === flow;
    const found = lease?.forecasts.find(isFor);
    const turnMs = found === undefined ? 0 : found.firstMs + (position - 1) * found.eachMs - (now - forecastsAt);
    return Math.max(0, turnMs, pausedUntil - now);
  };

  /** Requests of a team are promised a turn; those of the service itself are repeated by their jobs. */
  const refuse = ({ id, want, waitMs }: { id: number; want: Want; waitMs: number }): Refusal[] => {
    if (!isForTeam(want.class)) return [{ kind: 'too_long', id, waitMs, usedUp: 'budget' }];
    leaving.add(id, want.flow);
    isUrgent = true;
    return [];
  };

  const returnTurns = (bucket: BucketName, flow: string | null, count: number): void => {
    if (count > 0) unreported.returned.push({ bucket, flow, count });
  };

  const returnFree = (): void => {
    returnTurns('common', null, free.calls);
    free = { calls: 0, handedOut: 0, validUntil: 0 };
  };

  /** What the account did not expect cannot wait, and what was lent on its word may not be there. */
  const takeNote = (statement: Statement, turn: Turn): void => {
    unreported.observed = { ...statement, turn };
    const level = lease?.level ?? 0;
    if (statement.remaining < level / 2 || (room.size() > 0 && statement.remaining > level * 2)) isUrgent = true;
    if (statement.remaining < free.calls) returnFree();
  };

  return {
    /** @param again a request that had its turn and was answered 429: it is the first of its flow */
    ask(want: Want, { patienceMs, again }: { patienceMs: number; again: boolean }, now: number): Asked {
      const turn = takeFree(want, now);
      if (turn !== null) return { kind: 'go', turn };
      const isFresh = now - forecastsAt <= FORECAST_MS;
      const waitMs = isFresh ? forecastMs(want, again ? 1 : room.countOf(want) + 1, now) : 0;
      if (waitMs > patienceMs && now >= gatheringUntil) {
        const known = isForTeam(want.class) ? leaving.lastOf(want.flow, now) : { waitMs, usedUp: 'budget' as const };
        if (known !== null) return { kind: 'too_long', ...known };
        const id = room.nextId();
        refuse({ id, want, waitMs });
        return { kind: 'refuse', id };
      }
      unreported.wantsFree = true;
      isUrgent = true;
      return { kind: 'wait', id: room.enter(want, { now, deadline: now + patienceMs, first: again }) };
    },

    /** The request does not wait any more: it will not get a turn. */
    cancel(id: number): void {
      room.leave(id);
      leaving.drop(id);
    },

    /** The request cannot wait any longer: it is refused. */
    giveUp(id: number, now: number): Decided[] {
      const left = room.all().find((waiter) => waiter.id === id);
      if (left === undefined) return [];
      room.leave(id);
      return refuse({ ...left, waitMs: forecastMs(left.want, left.position, now) });
    },

    /** Refuses requests whose patience has ended. */
    expire(now: number): Decided[] {
      return room.takeExpired(now).flatMap((waiter) => {
        return refuse({ ...waiter, waitMs: forecastMs(waiter.want, waiter.position, now) });
      });
    },

    end(turn: Turn, how: CallEnd, now: number): void {
      underWay -= 1;
      if (how.kind === 'unreached') {
        returnTurns(turn.bucket, turn.flow, 1);
        return;
      }
      unreported.ended += 1;
      if (how.kind === 'lost') return;
      if (how.statement !== null) takeNote(how.statement, turn);
      if (how.kind === 'refused') {
        unreported.refused = { retryAfterMs: how.retryAfterMs, at: now };
        isUrgent = true;
        // What the lease allows would be refused as well: the next call waits until a time is known.
        returnFree();
      } else unreported.answered = true;
    },

    /** What is to be reported now. A report that is lost is not repeated. */
    report(now: number, { leaves } = { leaves: false }): Findings {
      // Nothing was asked since the last report: what is held is of more use to others.
      if (leaves || !unreported.wantsFree || now >= free.validUntil || now < pausedUntil) returnFree();
      const { wantsFree, observed, refused, ...counts } = unreported;
      const findings: Findings = {
        ...counts,
        ...leaving.report(now, lease?.epoch ?? null),
        leaves,
        waiting: room.demands(now),
        freeUnused: wantsFree && !leaves ? free.calls : null,
        observed: observed === null ? null : observationOf(observed, lease),
        refused: refused === null ? null : refusalAt(refused, now),
        known: lease === null ? null : { epoch: lease.epoch, limit: lease.reading.limit, level: lease.level },
      };
      unreported = nothingToReport();
      reportedAt = now;
      isUrgent = false;
      return findings;
    },

    /** Takes up a lease. @param askedAt when its report was made */
    takeUp(renewed: BudgetGrant, askedAt: number, now: number): Decided[] {
      if (lease !== null && lease.epoch !== renewed.epoch) gatheringUntil = now + GATHERING_MS;
      lease = renewed;
      forecastsAt = now;
      pausedUntil = renewed.pauseMs > 0 ? askedAt + renewed.pauseMs : Number.NEGATIVE_INFINITY;
      const calls = free.calls + renewed.free;
      free = { calls, handedOut: calls, validUntil: askedAt + renewed.validMs };
      const decided: Decided[] = [];
      for (const { class: callClass, flow, bucket, count } of renewed.turns) {
        const served = room.takeNext({ class: callClass, flow }, count);
        for (const id of served) decided.push({ kind: 'go', id, turn: turnOf(bucket, flow) });
        returnTurns(bucket, flow, count - served.length);
      }
      decided.push(...leaving.take(renewed.promised, renewed.epoch, now));
      if (leaving.isUnknownTo(renewed.epoch)) isUrgent = true;
      if (now < gatheringUntil) return decided;
      // Requests that cannot be served in time are refused now instead of at their deadline.
      for (const { id, want, position, deadline } of room.all()) {
        const waitMs = forecastMs(want, position, now);
        if (now + waitMs <= deadline) continue;
        room.leave(id);
        decided.push(...refuse({ id, want, waitMs }));
      }
      return decided;
    },

    /** When to report next, and when the next request expires. */
    wakeAt(now: number): { reportAt: number; expireAt: number } {
      return { reportAt: Math.max(now, reportAt()), expireAt: room.nextDeadline() };
    },

    /** Requests that wait here, those that are about to be refused included. */
    waiting: () => room.size() + leaving.size(),
    lease: () => lease,
  };

  function reportAt(): number {
    if (isUrgent || (unreported.wantsFree && free.handedOut > 0 && free.calls <= free.handedOut / 2)) return reportedAt;
    if (room.size() > 0) {
      const nextMs = Math.min(...(lease?.forecasts ?? []).map(({ firstMs }) => firstMs), WAITING_MS_MAX);
      return reportedAt + Math.max(WAITING_MS_MIN, nextMs);
    }
    const isBusy =
      underWay > 0 || free.calls > 0 || unreported.ended > 0 || unreported.returned.length > 0 || leaving.hasPromises();
    return reportedAt + (isBusy ? BUSY_MS : IDLE_MS);
  }
}
export type TurnKeeper = ReturnType<typeof turnKeeper>;

interface Unreported {
  ended: number;
  returned: { bucket: BucketName; flow: string | null; count: number }[];
  used: Record<string, number>;
  observed: (Statement & { readonly turn: Turn }) | null;
  refused: { retryAfterMs: number | null; at: number } | null;
  answered: boolean;
  /** There was a request since the last report. */
  wantsFree: boolean;
}

const nothingToReport = (): Unreported => ({
  ended: 0,
  returned: [],
  used: {},
  observed: null,
  refused: null,
  answered: false,
  wantsFree: false,
});

function observationOf({ limit, remaining, turn }: Statement & { turn: Turn }, lease: BudgetGrant | null): Observation {
  return { limit, remaining, endedBefore: lease !== null && turn.epoch === lease.epoch ? turn.endedBefore : null };
}

/** The upstream's time to wait counts from its answer, not from the report. */
function refusalAt({ retryAfterMs, at }: { retryAfterMs: number | null; at: number }, now: number): Report['refused'] {
  return { retryAfterMs: retryAfterMs === null ? null : Math.max(0, retryAfterMs - (now - at)) };
}
