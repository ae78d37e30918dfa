import type { RenderedEvent } from './event.js';
import { comparePositions, type EventPosition } from './event-position.js';

export interface RecentLimits {
  readonly events: number;
  readonly bytes: number;
}

/** The last events of a team in memory, so that streams near the end need no queries. */
export interface RecentEvents {
  /** @param until the new end of the known events */
  append(events: readonly RenderedEvent[], until: EventPosition): void;
  /** Whether all known events after the position are in memory. */
  covers(position: EventPosition): boolean;
  /** The first event after a covered position. Null when there is none yet. */
  firstBehind(position: EventPosition): RenderedEvent | null;
  /** The end of the known events. */
  end(): EventPosition;
}

/** @param start no events before this position are needed */
export function recentEvents(start: EventPosition, limits: RecentLimits): RecentEvents {
  let from = start;
  let until = start;
  let bytes = 0;
  let kept: RenderedEvent[] = [];

  const forget = (): void => {
    let count = 0;
    while (kept.length - count > limits.events || (bytes > limits.bytes && count < kept.length)) {
      bytes -= (kept[count] as RenderedEvent).bytes.length;
      count += 1;
    }
    if (count === 0) return;
    from = (kept[count - 1] as RenderedEvent).position;
    kept = kept.slice(count);
  };
  return {
    append(events, end) {
      for (const event of events) {
        kept.push(event);
        bytes += event.bytes.length;
      }
      until = end;
      forget();
    },
    covers: (position) => comparePositions(position, from) >= 0,
    firstBehind(position) {
      let [low, high] = [0, kept.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (comparePositions((kept[middle] as RenderedEvent).position, position) > 0) high = middle;
        else low = middle + 1;
      }
      return kept[low] ?? null;
    },
    end: () => until,
  };
}
