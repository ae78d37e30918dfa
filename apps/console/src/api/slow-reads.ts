import { useSyncExternalStore } from 'react';

/** Reads and plans take parts of a second: after this time a person should not trust what is shown. */
const SLOW_MS = 3_000;

let late = 0;
const listeners = new Set<() => void>();

function count(change: 1 | -1): void {
  late += change;
  for (const listener of listeners) listener();
}

/** Whether an answer takes longer than it should. */
export const useIsSlow = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => late > 0,
  );

/** Sends a request, and notes when the answer to a read or a plan is late. Changes may wait for others by design. */
export async function fetchTimed(url: string, init: RequestInit): Promise<Response> {
  const isRead = init.method === undefined || init.method === 'GET' || url.includes('dryRun=true');
  if (!isRead || url.includes('/actions/')) return fetch(url, init);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    count(1);
  }, SLOW_MS);
  try {
    return await fetch(url, init);
  } finally {
    clearTimeout(timer);
    if (isLate) count(-1);
  }
}
