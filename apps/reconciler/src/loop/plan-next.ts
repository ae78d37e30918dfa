import type { LeaseAnswer } from './lease-store.js';
import type { WakeUps } from './wake-ups.js';

/** How a pass over a row ended. `inMs`: until the next look; null when only news makes one worth while. */
export type TurnOutcome =
  | Exclude<LeaseAnswer, { kind: 'taken' }>
  | { readonly kind: 'settled'; readonly inMs: number | null }
  /** The process ends; the turn was given back. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'forgotten' };

/**
 * Sends the hint for the next pass, as the last one asked for it.
 *
 * @param delayMsMax what is due later the sweep finds in time: a queue need not keep it for so long
 */
export async function planNext(
  wakeUps: WakeUps,
  id: string,
  end: TurnOutcome | { readonly kind: 'failed'; readonly inMs: number | null },
  { delayMsMax = Number.POSITIVE_INFINITY }: { readonly delayMsMax?: number } = {},
): Promise<void> {
  switch (end.kind) {
    case 'settled':
    case 'failed':
    case 'not due':
      if (end.inMs === 0) await wakeUps.wake(id);
      else if (end.inMs !== null && end.inMs <= delayMsMax) await wakeUps.lookAgain(id, end.inMs);
      return;
    case 'stopped':
      // For another process: this one fetches no more.
      await wakeUps.wake(id);
      return;
    // Whoever holds the turn sees to the next one.
    case 'busy':
    case 'overtaken':
    case 'idle':
    case 'forgotten':
      return;
  }
}
