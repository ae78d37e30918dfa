/** The time of the local cloud: machine time plus the offset set by the admin. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Jumps forward by `ms`. */
  advance(ms: number): void;
  /** Registers a listener that is called after each jump. @returns a function that removes it */
  onAdvance(listener: () => void): () => void;
}

export function createClock(): Clock {
  let aheadMs = 0;
  const listeners = new Set<() => void>();
  return {
    now: () => Date.now() + aheadMs,
    advance: (ms) => {
      aheadMs += ms;
      for (const listener of [...listeners]) listener();
    },
    onAdvance: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** RFC 3339 in UTC with whole seconds, like the upstream. */
export const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

interface Entry {
  readonly dueAt: number;
  readonly timer: NodeJS.Timeout;
}

/** Calls back for each key when it is due on the clock. Holds at most one time per key. */
export class DueQueue {
  readonly #entries = new Map<string, Entry>();
  readonly #stopListening: () => void;
  #closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly onDue: (key: string) => void,
  ) {
    this.#stopListening = clock.onAdvance(() => {
      for (const [key, { dueAt }] of [...this.#entries]) this.#arm(key, dueAt);
    });
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Replaces the time of the key. */
  add(key: string, afterMs: number): void {
    if (!this.#closed) this.#arm(key, this.clock.now() + afterMs);
  }

  remove(key: string): void {
    clearTimeout(this.#entries.get(key)?.timer);
    this.#entries.delete(key);
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
    for (const key of [...this.#entries.keys()]) this.remove(key);
  }

  #arm(key: string, dueAt: number): void {
    this.remove(key);
    const timer = setTimeout(() => this.#look(key, dueAt), Math.max(0, dueAt - this.clock.now()));
    this.#entries.set(key, { dueAt, timer });
  }

  /** A timer may fire early by a fraction. */
  #look(key: string, dueAt: number): void {
    if (this.clock.now() < dueAt) this.#arm(key, dueAt);
    else {
      this.remove(key);
      this.onDue(key);
    }
  }
}
