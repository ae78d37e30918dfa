import { followedValue } from './followed-value.js';

/** Reads and plans take parts of a second: after this time a person should not trust what is shown. */
const SLOW_MS = 3_000;

const late = followedValue(0);

/** Whether an answer takes longer than it should. */
export const useIsSlow = (): boolean => late.use() > 0;

/** Sends a request, and notes when the answer to a read or a plan is late. Changes may wait for others by design. */
export async function fetchTimed(url: string, init: RequestInit): Promise<Response> {
  const isRead = init.method === undefined || init.method === 'GET' || url.includes('dryRun=true');
  if (!isRead || url.includes('/actions/')) return fetch(url, init);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    late.set(late.get() + 1);
  }, SLOW_MS);
  try {
    return await fetch(url, init);
  } finally {
    clearTimeout(timer);
    if (isLate) late.set(late.get() - 1);
  }
}
