import type { RequestScope } from '@corral/admission';
import type { OperationId, TeamId } from '@corral/contracts';

/** Subscribes to notifications. The callback gets the team's id, or null when any team may have changes. */
export type EventNotifications = (callback: (teamId: TeamId | null) => void) => void;

export interface OperationWaitsDeps {
  /** Finds those of the operations that are not open any more, those that are gone included. It takes one statement for all. */
  readonly findEnded: (operations: readonly WaitedOperation[]) => Promise<readonly OperationId[]>;
  readonly onNotification: EventNotifications;
  /** Interval in ms of reads without a notification, because one can be lost. */
  readonly pollMs: number;
  /** Aborted when the process starts to shut down. */
  readonly ending: AbortSignal;
  readonly onError: (error: unknown) => void;
}

export interface WaitedOperation {
  readonly teamId: TeamId;
  readonly id: OperationId;
}

/** `ended`: the operation is final. `elapsed`: it is not, after the given time. */
type WaitEnd = 'ended' | 'elapsed' | 'gone' | 'shutdown';

export function operationWaits({ ending, ...deps }: OperationWaitsDeps) {
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
    /**
     * Waits until the operation is final, for `seconds` at most. It takes no database connection: all waits of the process share
     * their reads.
     */
    until: ({ signal }: RequestScope, { teamId, id }: WaitedOperation, seconds: number) =>
      new Promise<WaitEnd>((resolve) => {
        const leaves = () => wait.end('gone');
        const late = setTimeout(() => wait.end('elapsed'), seconds * 1_000);
        const wait = {
          teamId,
          id,
          end(how: WaitEnd) {
            if (!waits.delete(wait)) return;
            clearTimeout(late);
            signal.removeEventListener('abort', leaves);
            if (waits.size === 0) clearInterval(timer);
            resolve(how);
          },
        };
        if (waits.size === 0) timer = setInterval(() => void read(), deps.pollMs);
        waits.add(wait);
        signal.addEventListener('abort', leaves);
        if (signal.aborted) wait.end('gone');
        else if (ending.aborted) wait.end('shutdown');
        // It may have ended since the request was answered first.
        else void read();
      }),
  };
}
