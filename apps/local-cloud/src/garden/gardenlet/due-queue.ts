import type { Clock } from '../../clock.js';

/** Timers beyond this are refused by the runtime; the queue looks again then. */
const TIMER_MS_MAX = 2 ** 31 - 1;

interface Entry {
  readonly key: string;
  readonly dueAt: number;
}

/** Calls back for each key when it is due on the clock. One timer serves all keys; a key waits at most once. */
export class DueQueue {
  readonly #heap: Entry[] = [];
  readonly #dueAt = new Map<string, number>();
  readonly #stopListening: () => void;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly onDue: (key: string) => void,
  ) {
    this.#stopListening = clock.onAdvance(() => this.#arm());
  }

  get size(): number {
    return this.#dueAt.size;
  }

  has(key: string): boolean {
    return this.#dueAt.has(key);
  }

  /** Replaces an earlier time of the key. */
  add(key: string, afterMs: number): void {
    if (this.#closed) return;
    const dueAt = this.clock.now() + afterMs;
    this.#dueAt.set(key, dueAt);
    this.#push({ key, dueAt });
    this.#arm();
  }

  remove(key: string): void {
    this.#dueAt.delete(key);
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const first = this.#heap[0];
    if (first === undefined || this.#closed) return;
    const waitMs = Math.min(Math.max(0, first.dueAt - this.clock.now()), TIMER_MS_MAX);
    this.#timer = setTimeout(() => this.#run(), waitMs);
  }

  #run(): void {
    this.#timer = null;
    const now = this.clock.now();
    const due: string[] = [];
    for (let first = this.#heap[0]; first !== undefined && first.dueAt <= now; first = this.#heap[0]) {
      this.#pop();
      // An entry that was replaced or removed meanwhile is left over.
      if (this.#dueAt.get(first.key) !== first.dueAt) continue;
      this.#dueAt.delete(first.key);
      due.push(first.key);
    }
    for (const key of due) if (!this.#closed) this.onDue(key);
    this.#arm();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((heap[parent]?.dueAt ?? 0) <= entry.dueAt) break;
      heap[index] = heap[parent] as Entry;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1]?.dueAt ?? 0) < (heap[child]?.dueAt ?? 0)) child += 1;
      if ((heap[child]?.dueAt ?? 0) >= last.dueAt) break;
      heap[index] = heap[child] as Entry;
      index = child;
    }
    heap[index] = last;
  }
}
