import type { Promised, UsedUp } from './promise-turns.js';
import { keptMs } from './promises.js';

/** A request that will not have its turn in time, with the time to come back. */
export interface Refusal {
  readonly kind: 'too_long';
  readonly id: number;
  readonly waitMs: number;
  readonly usedUp: UsedUp;
}

/** What a request was told, and which accounts know of it. */
interface Told {
  readonly flow: string;
  readonly dueAt: number;
  readonly epochs: Set<string>;
}

/**
 * Requests of one replica that are about to be refused: the account has yet to say what they are told. Remembers what was
 * told, so that an account that is opened anew, or kept by this replica alone, learns of it. Has no clock.
 */
export function refusals(freshMs: number) {
  let waiting: { id: number; flow: string }[] = [];
  let asking: { id: number; flow: string }[] = [];
  let told: Told[] = [];
  const full = new Map<string, Pick<Told, 'dueAt'> & { readonly usedUp: UsedUp; readonly asOf: number }>();

  return {
    /** Whether somebody may come back for what was told here. */
    hasTold: () => told.length > 0,
    /** Whether an account was not told yet what another one has promised. */
    isUnknownTo: (epoch: string) => told.some(({ epochs }) => !epochs.has(epoch)),
    /** Requests that wait for what they are told. */
    size: () => waiting.length + asking.length,
    add: (id: number, flow: string) => void waiting.push({ id, flow }),
    drop(id: number): void {
      waiting = waiting.filter((each) => each.id !== id);
      asking = asking.filter((each) => each.id !== id);
    },

    /** What is told to a flow that is promised no further turn, if that is known well enough; else null. */
    lastOf(flow: string, now: number): { waitMs: number; usedUp: UsedUp } | null {
      const last = full.get(flow);
      if (last === undefined || now - last.asOf > freshMs || last.dueAt <= now) return null;
      return { waitMs: last.dueAt - now, usedUp: last.usedUp };
    },

    /** What the account is asked, of which the next `take` is the answer, and told. */
    report(now: number, epoch: string | null) {
      asking = [...asking, ...waiting];
      waiting = [];
      told = told.filter(({ dueAt }) => dueAt + keptMs > now);
      const refusing: Record<string, number> = {};
      for (const { flow } of asking) refusing[flow] = (refusing[flow] ?? 0) + 1;
      const unknown = epoch === null ? [] : told.filter(({ epochs }) => !epochs.has(epoch));
      for (const { epochs } of unknown) epochs.add(epoch as string);
      return { refusing, promised: unknown.map(({ flow, dueAt }) => ({ flow, inMs: dueAt - now })) };
    },

    take(promised: readonly Promised[], epoch: string, now: number): Refusal[] {
      for (const [flow, { asOf }] of full) if (now - asOf > freshMs) full.delete(flow);
      const decided: Refusal[] = [];
      for (const { flow, waitsMs, kept, usedUp } of promised) {
        for (const waitMs of waitsMs.slice(0, kept)) told.push({ flow, dueAt: now + waitMs, epochs: new Set([epoch]) });
        if (kept < waitsMs.length) full.set(flow, { dueAt: now + (waitsMs.at(-1) ?? 0), usedUp, asOf: now });
        const own = asking.filter((each) => each.flow === flow);
        // The account counted requests that have left since: those behind them are told what those would have been.
        for (const [index, { id }] of own.entries()) {
          decided.push({ kind: 'too_long', id, waitMs: waitsMs[index] ?? waitsMs.at(-1) ?? 0, usedUp });
        }
      }
      asking = [];
      return decided;
    },
  };
}
