import { fullJitterMs, sleep } from '@corral/wire';
import {
  type BudgetReading,
  type BudgetState,
  type FlowReading,
  flowsOf,
  readingOf,
  refillUntil,
  stateForm,
} from './account/budget-state.js';

/** A pure function from one state to the next; `now` is the store's clock. It may be called more than once. */
export type Change<T> = (state: BudgetState | null, now: number) => { state: BudgetState; answer: T };

/** The budget of a project as it is now, provided that no call was made since `observedAt`. */
export interface KeptReading extends BudgetReading {
  /** When a process last brought the account up to date, on the store's clock. */
  readonly observedAt: Date;
  /** Who waits, is ahead or has a promise, as of `observedAt`. */
  readonly flows: readonly FlowReading[];
}

/** Where processes that share an upstream project keep their account of its budget. */
export interface BudgetStore {
  /**
   * Changes the state of a project, one change at a time.
   *
   * @throws when the store cannot be reached; the change may have taken place all the same
   */
  update<T>(project: string, change: Change<T>): Promise<T>;
  /** The budgets of all projects that were used recently, by project. For display. */
  readAll(): Promise<Record<string, KeptReading>>;
  close(): Promise<void>;
}

/** A place for texts with versions, by which two writers notice each other. */
export interface VersionedTexts {
  /** @returns the version 0 for what is not there */
  get(project: string): Promise<{ text: string | null; version: number; now: number }>;
  /** @returns false when the version is not the present one any more: nothing was written */
  put(project: string, text: string, version: number): Promise<boolean>;
  getAll(): Promise<{ texts: Record<string, string>; now: number }>;
  close(): Promise<void>;
}

const TRIES = 12;
/** Short at first, and doubled with each try: writers spread until each finds its moment. */
const retry = { firstMs: 4, maxMs: 256 };

/**
 * A store on versioned texts: reads, changes, and writes if no other writer did meanwhile. No lock is held, so a process
 * that stops half-way blocks no other.
 */
export function versionedStore(texts: VersionedTexts): BudgetStore {
  return {
    async update(project, change) {
      for (let attempt = 1; attempt <= TRIES; attempt += 1) {
        const { text, version, now } = await texts.get(project);
        const { state, answer } = change(parseState(text), now);
        if (await texts.put(project, JSON.stringify(state), version)) return answer;
        await sleep(fullJitterMs(attempt - 1, retry));
      }
      throw new Error(`The budget changed ${TRIES} times while it was being changed.`);
    },
    async readAll() {
      const { texts: all, now } = await texts.getAll();
      return readingsOf(all, now);
    },
    close: () => texts.close(),
  };
}

function readingsOf(texts: Record<string, string>, now: number): Record<string, KeptReading> {
  const readings = Object.entries(texts).flatMap(([project, text]) => {
    const state = parseState(text);
    return state === null ? [] : [[project, keptReading(state, now)] as const];
  });
  return Object.fromEntries(readings);
}

function keptReading(state: BudgetState, now: number): KeptReading {
  const refilled = refillUntil(state, now);
  return { ...readingOf(refilled), flows: flowsOf(refilled), observedAt: new Date(state.at) };
}

/** A text that cannot be read counts as lost: a new account is opened. */
function parseState(text: string | null): BudgetState | null {
  if (text === null) return null;
  try {
    const state = JSON.parse(text) as BudgetState | null;
    // A process of an earlier version promises nothing.
    return state?.form === stateForm ? { ...state, promises: state.promises ?? [] } : null;
  } catch {
    return null;
  }
}

/** For a process that has the project to itself. */
export function memoryStore(now: () => number = () => performance.now()): BudgetStore {
  const states = new Map<string, BudgetState>();
  return {
    async update(project, change) {
      const { state, answer } = change(states.get(project) ?? null, now());
      states.set(project, state);
      return answer;
    },
    async readAll() {
      return Object.fromEntries([...states].map(([project, state]) => [project, keptReading(state, now())]));
    },
    close: async () => undefined,
  };
}
