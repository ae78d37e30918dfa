import type { Promised, UsedUp } from '../account/promise-turns.js';
import { keptMs } from '../account/promises.js';

/** A request that will not have its turn in time, with the time to come back. */
export interface Refusal {
  readonly kind: 'too_long';
  readonly id: number;
  readonly waitMs: number;
  readonly usedUp: UsedUp;
}

/** A promise that was given to a request, and which accounts know of it. */
interface KnownPromise {
  readonly flow: string;
  readonly dueAt: number;
  readonly epochs: Set<string>;
}

/**
 * Requests of one replica that are about to be refused. They wait for the time that the account promises them. Remembers
 * these promises, so that a new account, or one that this replica keeps alone, learns of them. Has no clock.
 */
export function refusals(freshMs: number) {
  let waiting: { id: number; flow: string }[] = [];
  let asking: { id: number; flow: string }[] = [];
  let promises: KnownPromise[] = [];
  const full = new Map<string, Pick<KnownPromise, 'dueAt'> & { readonly usedUp: UsedUp; readonly asOf: number }>();

  return {
    /** Whether a promise of this replica is still open. */
    hasPromises: () => promises.length > 0,
    /** Whether an account does not know yet of a promise of another one. */
    isUnknownTo: (epoch: string) => promises.some(({ epochs }) => !epochs.has(epoch)),
    /** Requests that wait for their promise. */
    size: () => waiting.length + asking.length,
    add: (id: number, flow: string) => void waiting.push({ id, flow }),
    drop(id: number): void {
      waiting = waiting.filter((each) => each.id !== id);
      asking = asking.filter((each) => each.id !== id);
    },

    /** The last promise of a flow that gets no further one, if it is fresh enough; else null. */
    lastOf(flow: string, now: number): { waitMs: number; usedUp: UsedUp } | null {
      const last = full.get(flow);
      if (last === undefined || now - last.asOf > freshMs || last.dueAt <= now) return null;
      return { waitMs: last.dueAt - now, usedUp: last.usedUp };
    },

    /** What the account is asked and informed of. The next `take` is the answer. */
    report(now: number, epoch: string | null) {
      asking = [...asking, ...waiting];
      waiting = [];
      promises = promises.filter(({ dueAt }) => dueAt + keptMs > now);
      const refusing: Record<string, number> = {};
      for (const { flow } of asking) refusing[flow] = (refusing[flow] ?? 0) + 1;
      const unknown = epoch === null ? [] : promises.filter(({ epochs }) => !epochs.has(epoch));
      for (const { epochs } of unknown) epochs.add(epoch as string);
      return { refusing, promised: unknown.map(({ flow, dueAt }) => ({ flow, inMs: dueAt - now })) };
    },

    take(promised: readonly Promised[], epoch: string, now: number): Refusal[] {
      for (const [flow, { asOf }] of full) if (now - asOf > freshMs) full.delete(flow);
      const decided: Refusal[] = [];
      for (const { flow, waitsMs, kept, usedUp } of promised) {
        for (const waitMs of waitsMs.slice(0, kept))
          promises.push({ flow, dueAt: now + waitMs, epochs: new Set([epoch]) });
        if (kept < waitsMs.length) full.set(flow, { dueAt: now + (waitsMs.at(-1) ?? 0), usedUp, asOf: now });
        const own = asking.filter((each) => each.flow === flow);
        // The account counted requests that have left since: the requests behind them get the answer that those would have got.
        for (const [index, { id }] of own.entries()) {
          decided.push({ kind: 'too_long', id, waitMs: waitsMs[index] ?? waitsMs.at(-1) ?? 0, usedUp });
        }
      }
      asking = [];
      return decided;
    },
  };
}
