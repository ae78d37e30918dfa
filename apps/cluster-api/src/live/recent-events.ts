import { comparePositions, type EventPosition } from './event-position.js';
import type { RenderedEvent } from './event-record.js';

export interface RecentLimits {
  readonly events: number;
  readonly bytes: number;
}

/** The last events of a team, so that whoever follows closely needs no statement of their own. */
export interface RecentEvents {
  /** @param until where the events that are known end now */
  append(events: readonly RenderedEvent[], until: EventPosition): void;
  /** Whether all events behind the position that are known are here. */
  covers(position: EventPosition): boolean;
  /** The first event behind a position that is covered; null when there is none yet. */
  firstBehind(position: EventPosition): RenderedEvent | null;
  /** Where the known events end. */
  end(): EventPosition;
}

/** @param start nothing before it is asked for */
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
