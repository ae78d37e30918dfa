import { randomUUID } from 'node:crypto';
import { type BudgetState, freshState, levelOf, type PromisedTurn, usualLimit } from './account.js';
import { adopt } from './promises.js';
import { type CallEnd, takePause } from './statements.js';
import { type Answer, exchange, type Told } from './turns.js';

/** Processes that are assumed by one that has never reached the store. */
const processesUnknown = 8;
/** What others drew since the store was last seen is not known: half of what was there is left alone. */
const caution = 2;

/** An account that a process keeps alone: its part of the budget. */
export interface Alone {
  state: BudgetState;
  readonly processes: number;
  /** Calls so far, by flow. */
  readonly made: Record<string, number>;
}

/** @param seen the account as it was last seen; null if it never was */
export function openAlone(seen: BudgetState | null, promises: readonly PromisedTurn[], now: number): Alone {
  const processes = seen === null ? processesUnknown : Math.max(1, Object.keys(seen.processes).length);
  // Nothing was heard of the upstream: what it has published is assumed.
  const level = seen === null || seen.limit === null ? usualLimit : levelOf(seen);
  const limit = (seen?.limit ?? usualLimit) / processes;
  const fresh = freshState({ epoch: randomUUID(), now, limit, level: level / (processes * caution) });
  const state = adopt(seen === null ? fresh : takePause(fresh, seen), promises);
  return { state, processes, made: {} };
}

/** Takes calls off that were accounted for. */
export function subtract(from: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) from[name] = Math.max(0, (from[name] ?? 0) - count);
}

/** Scales a statement about the whole budget to one part. */
function partOf(how: CallEnd, processes: number): CallEnd {
  if ((how.kind !== 'answered' && how.kind !== 'refused') || how.statement === null) return how;
  const { limit, remaining } = how.statement;
  const part = { limit: limit === null ? null : limit / processes, remaining: Math.floor(remaining / processes) };
  return { ...how, statement: part };
}

/** Tells and asks the account that is kept alone. */
export function exchangeAlone(alone: Alone, told: Told, now: number): Map<number, Answer> {
  const { processes, made } = alone;
  const ends = told.ends.map(({ turn, how }) => ({ turn: { ...turn, epoch: '' }, how: partOf(how, processes) }));
  const nothing = { seen: null, newEpoch: '', madeAlone: {}, pause: null, promised: [] };
  const { state, answers } = exchange(alone.state, { ...told, ...nothing, ends, process: 'this' }, now);
  alone.state = state;
  for (const answer of answers.values()) {
    if (answer.kind === 'go') made[answer.turn.flow] = (made[answer.turn.flow] ?? 0) + 1;
  }
  return answers;
}
