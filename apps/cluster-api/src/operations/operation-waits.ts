import { keyedSemaphore } from '@corral/admission';
import { clusterLimits, type OperationId, type TeamId } from '@corral/contracts';

export interface OperationWaitsDeps {
  /** Which of these operations are not open any more, those that are gone included. One statement for all. */
  readonly findEnded: (operations: readonly WaitedOperation[]) => Promise<readonly OperationId[]>;
  /** Subscribes to notifications. The callback gets the team's id, or null when any team may have changes. */
  readonly onNotification: (callback: (teamId: TeamId | null) => void) => void;
  /** Interval in ms of reads without a notification, because one can be lost. */
  readonly pollMs: number;
  /** Aborted when the process starts to shut down. */
  readonly ending: AbortSignal;
  readonly limits: OperationWaitLimits;
  readonly onError: (error: unknown) => void;
}

export interface WaitedOperation {
  readonly teamId: TeamId;
  readonly id: OperationId;
}

export interface OperationWaitLimits {
  /** Of one person or service account. */
  readonly perCaller: number;
  readonly perTeam: number;
  readonly perProcess: number;
}

export const operationWaitLimits: OperationWaitLimits = {
  perCaller: clusterLimits.operationWaitsPerCaller,
  perTeam: clusterLimits.operationWaitsPerTeam,
  perProcess: clusterLimits.operationWaitsPerProcess,
};

/** A team takes at most this part of what a process has. */
const SHARE_OF_TEAM = 1 / 4;

export interface OperationWait extends WaitedOperation {
  /** The id of the person or the service account. */
  readonly caller: string;
  readonly seconds: number;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
}

/** `ended`: the operation is final. `elapsed`: it is not, after the given time. */
export type WaitEnd = 'ended' | 'elapsed' | 'gone' | 'shutdown';

export interface OperationWaits {
  /**
   * Waits until the operation is final, without a database connection: all waits of the process share their reads.
   *
   * @returns null at once when the caller, the team or the process has no room for another wait
   */
  begin(wait: OperationWait): Promise<WaitEnd> | null;
  count(): number;
}

export function operationWaits({ limits, ending, ...deps }: OperationWaitsDeps): OperationWaits {
  const room = roomFor(limits);
  const waits = new Set<WaitedOperation & { readonly end: (how: WaitEnd) => void }>();
  const isWaited = (teamId: TeamId): boolean => [...waits].some((wait) => wait.teamId === teamId);
  let timer: NodeJS.Timeout | undefined;
  let isReading = false;
  let isWanted = false;

  const read = async (): Promise<void> => {
    isWanted = true;
    if (isReading) return;
    isReading = true;
    while (isWanted && waits.size > 0) {
      isWanted = false;
      const asked = [...waits];
      try {
        const ended = new Set(await deps.findEnded(asked));
        for (const wait of asked) if (ended.has(wait.id)) wait.end('ended');
      } catch (error) {
        deps.onError(error); // the next poll reads again
      }
    }
    isReading = false;
  };
  deps.onNotification((teamId) => {
    if (waits.size > 0 && (teamId === null || isWaited(teamId))) void read();
  });
  ending.addEventListener('abort', () => {
    for (const wait of waits) wait.end('shutdown');
  });

  return {
    count: () => waits.size,
    begin({ teamId, id, caller, seconds, gone }) {
      const leave = room(teamId, caller);
      if (leave === null) return null;
      return new Promise<WaitEnd>((resolve) => {
        const leaves = () => wait.end('gone');
        const late = setTimeout(() => wait.end('elapsed'), seconds * 1_000);
        const wait = {
          teamId,
          id,
          end(how: WaitEnd) {
            if (!waits.delete(wait)) return;
            clearTimeout(late);
            gone.removeEventListener('abort', leaves);
            if (waits.size === 0) clearInterval(timer);
            leave();
            resolve(how);
          },
        };
        if (waits.size === 0) timer = setInterval(() => void read(), deps.pollMs);
        waits.add(wait);
        gone.addEventListener('abort', leaves);
        if (gone.aborted) wait.end('gone');
        else if (ending.aborted) wait.end('shutdown');
        // It may have ended since the request was answered first.
        else void read();
      });
    },
  };
}

/** @returns a function that takes a place, and returns how to leave it; null when there is none */
function roomFor({ perCaller, perTeam, perProcess }: OperationWaitLimits) {
  const ofTeamMax = Math.min(perTeam, Math.max(1, Math.floor(perProcess * SHARE_OF_TEAM)));
  const [ofCaller, ofTeam, ofProcess] = [
    keyedSemaphore(perCaller),
    keyedSemaphore(ofTeamMax),
    keyedSemaphore(perProcess),
  ];
  return (teamId: TeamId, caller: string): (() => void) | null => {
    const taken: (() => void)[] = [];
    for (const [places, key] of [
      [ofCaller, caller],
      [ofTeam, teamId],
      [ofProcess, ''],
    ] as const) {
      const leave = places.tryAcquire(key);
      if (leave === null) {
        for (const each of taken) each();
        return null;
      }
      taken.push(leave);
    }
    return () => {
      for (const each of taken) each();
    };
  };
}
