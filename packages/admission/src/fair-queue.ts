import { NotAdmitted, type Place, type RequestScope, waiting } from './request-scope.js';

export interface FairQueueOptions {
  /** Most that runs at the same time; Infinity for no bound. */
  readonly concurrency: number;
  /** The same of one owner. */
  readonly perOwner: number;
  /** Most that waits. Beyond it the owner with the most waiting work loses its last. */
  readonly waiting: number;
  /** The same of one owner. Beyond it the owner's next work is refused. */
  readonly waitingPerOwner: number;
  /** Longest wait in ms. A scope's deadline may come earlier. */
  readonly waitMs: number;
}

export interface FairQueue {
  /**
   * Runs work in the order of its owner, and one owner after the other. Started work runs to its end.
   *
   * @param work may leave its place for a while. Then as much as `concurrency` and `perOwner` say runs beside it
   * @throws NotAdmitted, or the reason of the scope's signal. The work was not started then
   */
  run<T>(owner: string, scope: RequestScope, work: (place: Place) => Promise<T>): Promise<T>;
  /** Whether work of the owner would have to wait now. */
  isBusy(owner: string): boolean;
  /** The number of works at a place; one that has left its place does not count. */
  countRunning(): number;
  countWaiting(): number;
}

interface Waiter {
  begin(): void;
  refuse(error: unknown): void;
}

/** Runs work of many owners such that none of them delays or refuses that of the others. Number and time of waits are bounded. */
export function fairQueue({ concurrency, perOwner, waitMs, ...bounds }: FairQueueOptions): FairQueue {
  const running = new Map<string, number>();
  let runningCount = 0;
  /** Waiting work by owner, the next owner first. An owner moves to the end with each work that begins. */
  const lines = new Map<string, Set<Waiter>>();
  let waitingCount = 0;

  const count = (owner: string, by: 1 | -1): void => {
    runningCount += by;
    const ofOwner = (running.get(owner) ?? 0) + by;
    if (ofOwner === 0) running.delete(owner);
    else running.set(owner, ofOwner);
  };
  const mayRun = (owner: string): boolean => runningCount < concurrency && (running.get(owner) ?? 0) < perOwner;
  /** Owners that have to wait for their own work keep their place. */
  const beginNext = (): void => {
    for (const [owner, line] of lines) {
      if (runningCount >= concurrency) return;
      const [first] = line;
      if (first === undefined || !mayRun(owner)) continue;
      // The loop meets it again at the end.
      lines.delete(owner);
      lines.set(owner, line);
      first.begin();
    }
  };
  const release = (owner: string): void => {
    count(owner, -1);
    beginNext();
  };

  /** @param work was counted as running */
  const perform = async <T>(owner: string, work: (place: Place) => Promise<T>): Promise<T> => {
    let isOver = false;
    let isHere = true;
    const comeBack = (): void => {
      if (isOver || isHere) return;
      isHere = true;
      count(owner, 1);
    };
    const leave = (): (() => void) => {
      if (!isOver && isHere) {
        isHere = false;
        release(owner);
      }
      return comeBack;
    };
    try {
      return await work({ leave });
    } finally {
      isOver = true;
      if (isHere) release(owner);
    }
  };

  const busiest = (): [string, Set<Waiter>] | undefined => {
    let most: [string, Set<Waiter>] | undefined;
    for (const entry of lines) if (entry[1].size > (most?.[1].size ?? 0)) most = entry;
    return most;
  };
  /** @throws NotAdmitted when there is no room for one more */
  const makeRoom = (owner: string): void => {
    const own = lines.get(owner)?.size ?? 0;
    if (own >= bounds.waitingPerOwner) throw new NotAdmitted('full', 'own');
    if (waitingCount < bounds.waiting) return;
    const [, longest] = busiest() ?? [];
    const last = [...(longest ?? [])].at(-1);
    if (longest === undefined || last === undefined || longest.size <= own + 1) throw new NotAdmitted('full', 'others');
    last.refuse(new NotAdmitted('full', 'others'));
  };

  /** Ends when the work may begin, and is counted as running. */
  const untilFirst = (owner: string, { signal, deadline }: RequestScope): Promise<void> =>
    new Promise((resolve, reject) => {
      makeRoom(owner);
      const line = lines.get(owner) ?? new Set<Waiter>();
      const patienceMs = Math.min(waitMs, Math.max(0, deadline - performance.now()));
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        waitingCount -= 1;
        line.delete(waiter);
        if (line.size === 0) lines.delete(owner);
      };
      const waiter: Waiter = {
        begin() {
          end();
          count(owner, 1);
          resolve();
        },
        refuse(error) {
          end();
          reject(error);
        },
      };
      const giveUp = (): void => waiter.refuse(signal.reason);
      const tooLate = (): void => {
        const [first] = line;
        const isOwn = first !== waiter || (running.get(owner) ?? 0) >= perOwner;
        waiter.refuse(new NotAdmitted('late', isOwn ? 'own' : 'others'));
      };
      lines.set(owner, line.add(waiter));
      waitingCount += 1;
      signal.addEventListener('abort', giveUp);
      const timer = patienceMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(tooLate, patienceMs);
    });

  const isBusy = (owner: string): boolean => lines.has(owner) || !mayRun(owner);
  return {
    isBusy,
    async run(owner, scope, work) {
      scope.signal.throwIfAborted();
      if (isBusy(owner)) await waiting(scope, () => untilFirst(owner, scope));
      else count(owner, 1);
      return perform(owner, work);
    },
    countRunning: () => runningCount,
    countWaiting: () => waitingCount,
  };
}
