/** What those who wait need of an `AbortSignal`. */
export interface Abortable {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * An `AbortController` and what is needed of its signal in one. To make and to abort those of Node.js takes longer than all else about a
 * request that waits for nothing.
 */
export class LightAbort implements Abortable {
  readonly #listeners = new Set<() => void>();
  aborted = false;
  reason: unknown = undefined;

  /** Calls each listener once. Another call does nothing. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }
}

/** Calls back once when the signal is aborted; at once if it has been. @returns a function that removes the listener */
export function onAborted(signal: Abortable, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => undefined;
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
