import { Tooltip } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { endText, exactTime, relativeTime, spanText } from './relative-time.js';

const TICK_MS = 10_000;
const listeners = new Set<() => void>();
let current = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    current = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Unix time in ms, updated every 10 s for all that show it. */
export const useNow = (): number =>
  useSyncExternalStore(subscribe, () => {
    if (timer === undefined) current = Date.now();
    return current;
  });

/** A moment, relative to now; the exact one on hover and focus. @param at ISO 8601, as in answers */
export function Time({ at }: { readonly at: string }) {
  const now = useNow();
  const time = Date.parse(at);
  return (
    <Exact time={time} at={at}>
      {relativeTime(time, Math.max(now, Math.min(time, now + TICK_MS)))}
    </Exact>
  );
}

/** "for 31 s": how long something is so. @param since ISO 8601 */
export function Lasting({ since }: { readonly since: string }) {
  const now = useNow();
  const time = Date.parse(since);
  return (
    <Exact time={time} at={since}>
      {`for ${spanText(Math.max(0, now - time))}`}
    </Exact>
  );
}

/** The end of something: the day first, since people plan by it. @param at ISO 8601; null: it does not end */
export function Expiry({ at, never = 'never' }: { readonly at: string | null; readonly never?: string }) {
  const now = useNow();
  if (at === null) return <span>{never}</span>;
  const time = Date.parse(at);
  return (
    <Exact time={time} at={at}>
      {endText(time, now)}
    </Exact>
  );
}

function Exact({ time, at, children }: { readonly time: number; readonly at: string; readonly children: string }) {
  return (
    <Tooltip label={exactTime(time)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the exact time is for keyboards as well. */}
      <time dateTime={at} tabIndex={0} className="numeric">
        {children}
      </time>
    </Tooltip>
  );
}
