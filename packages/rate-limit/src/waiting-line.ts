/**
 * Those who wait for tokens of one bucket. A slot is the time at which a promised token is there; slots belong to the
 * line, so that who is ahead gets the earlier one whatever happens: with somebody who leaves, the last slot goes.
 */
export interface WaitingLine<W> {
  /** In the order of their arrival. */
  readonly waiters: readonly W[];
  /** As many, the earliest first. */
  readonly slots: readonly number[];
}

export const nobodyWaits: WaitingLine<never> = { waiters: [], slots: [] };

/** Joins at the end, and brings the slot that it was promised. */
export function enter<W>({ waiters, slots }: WaitingLine<W>, waiter: W, slot: number): WaitingLine<W> {
  return { waiters: [...waiters, waiter], slots: [...slots, slot].sort((one, other) => one - other) };
}

/** @returns null when it does not wait here; else its token is to be given back */
export function leave<W>({ waiters, slots }: WaitingLine<W>, waiter: W): WaitingLine<W> | null {
  if (!waiters.includes(waiter)) return null;
  return { waiters: waiters.filter((each) => each !== waiter), slots: slots.slice(0, -1) };
}

/** Lets those go whose tokens are there. */
export function serve<W>(
  { waiters, slots }: WaitingLine<W>,
  now: number,
): { line: WaitingLine<W>; served: readonly W[] } {
  const count = slots.filter((slot) => slot <= now).length;
  return {
    line: { waiters: waiters.slice(count), slots: slots.slice(count) },
    served: waiters.slice(0, count),
  };
}
