import type { Demand } from '../account/budget-state.js';
import type { CallClass } from '../account/call-class.js';

/** One call that wants to be made. */
export interface Want {
  readonly class: CallClass;
  readonly flow: string;
  /** Calls of one key get their turns in the order in which they asked; null for any order. */
  readonly key: string | null;
}

export interface Waiter {
  readonly id: number;
  readonly want: Want;
  readonly since: number;
  readonly deadline: number;
}

type Line = Pick<Want, 'class' | 'flow'>;

/** Requests that wait at one replica, in the order in which they came. */
export function waitingRoom() {
  let waiters: Waiter[] = [];
  let lastId = 0;

  const nextId = (): number => {
    lastId += 1;
    return lastId;
  };

  const isIn = ({ want }: Waiter, line: Line): boolean => want.class === line.class && want.flow === line.flow;

  /** A request waits behind an earlier one of its key, in whatever class that is. */
  const ready = (): Waiter[] => {
    const keys = new Set<string>();
    return waiters.filter(({ want: { key } }) => {
      if (key === null) return true;
      const isFirst = !keys.has(key);
      keys.add(key);
      return isFirst;
    });
  };

  const remove = (gone: ReadonlySet<number>): void => {
    waiters = waiters.filter(({ id }) => !gone.has(id));
  };

  return {
    size: () => waiters.length,
    isWaiting: (flow: string) => waiters.some(({ want }) => want.flow === flow),
    countOf: (line: Line) => waiters.filter((waiter) => isIn(waiter, line)).length,
    nextDeadline: () =>
      waiters.reduce((soonest, { deadline }) => Math.min(soonest, deadline), Number.POSITIVE_INFINITY),

    /** An id that no other request has here. */
    nextId,

    /** @returns the id by which the request is known here */
    enter(want: Want, { now, deadline, first }: { now: number; deadline: number; first: boolean }): number {
      const waiter = { id: nextId(), want, since: now, deadline };
      waiters = first ? [waiter, ...waiters] : [...waiters, waiter];
      return waiter.id;
    },

    leave: (id: number) => remove(new Set([id])),

    /** Everybody, with the place in the line of their class and flow, counted from 1. */
    all(): (Waiter & { position: number })[] {
      const places = new Map<string, number>();
      return waiters.map((waiter) => {
        const line = `${waiter.want.class} ${waiter.want.flow}`;
        const position = (places.get(line) ?? 0) + 1;
        places.set(line, position);
        return { ...waiter, position };
      });
    },

    takeExpired(now: number): (Waiter & { position: number })[] {
      const expired = this.all().filter(({ deadline }) => deadline <= now);
      remove(new Set(expired.map(({ id }) => id)));
      return expired;
    },

    /** Takes up to `count` requests of a line, oldest first. @returns their ids */
    takeNext(line: Line, count: number): number[] {
      const taken: number[] = [];
      while (taken.length < count) {
        const next = ready().find((waiter) => isIn(waiter, line));
        if (next === undefined) break;
        taken.push(next.id);
        remove(new Set([next.id]));
      }
      return taken;
    },

    /** How many wait, by line, without those who wait for an earlier request of their key. */
    demands(now: number): (Pick<Demand, 'class' | 'flow' | 'count'> & { waitedMs: number })[] {
      const lines = new Map<string, { class: CallClass; flow: string; count: number; waitedMs: number }>();
      for (const { want, since } of ready()) {
        const name = `${want.class} ${want.flow}`;
        const line = lines.get(name) ?? { class: want.class, flow: want.flow, count: 0, waitedMs: 0 };
        lines.set(name, { ...line, count: line.count + 1, waitedMs: Math.max(line.waitedMs, now - since) });
      }
      return [...lines.values()];
    },
  };
}
