/** Thrown instead of starting work that may not go on now. Nothing of it was started. */
export class NotAdmitted extends Error {
  override readonly name = 'NotAdmitted';

  /**
   * @param why too many are waiting, or the wait took too long
   * @param whose whether work of the same owner is in the way, or that of others
   */
  constructor(
    readonly why: 'full' | 'late',
    readonly whose: 'own' | 'others',
  ) {
    super(`Not admitted: ${why} with work of ${whose === 'own' ? 'the same owner' : 'others'}`);
  }
}

/** A number of places per key. */
export interface Places {
  /** @returns a function that gives the place back, which may be called again; null when all are taken */
  take(key: string): (() => void) | null;
}

/** @param max places per key */
export function places(max: number): Places {
  const taken = new Map<string, number>();
  return {
    take(key) {
      const count = taken.get(key) ?? 0;
      if (count >= max) return null;
      taken.set(key, count + 1);
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        const left = (taken.get(key) ?? 1) - 1;
        if (left === 0) taken.delete(key);
        else taken.set(key, left);
      };
    },
  };
}

/** What a rule, a use case or a store may know about the request that it works for: when to stop. */
export interface RequestScope {
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  /** The time on `performance.now`'s clock until which the request may wait; Infinity for none. */
  readonly deadline: number;
}

/** The place of running work, which it can leave for a while. */
export interface Place {
  /** @returns a function that comes back, at once: work that has begun does not queue again */
  leave(): () => void;
}

/** What becomes known of a request, bit by bit. */
export interface ScopeOptions {
  readonly signal?: AbortSignal;
  readonly deadline?: number;
  /** Left while the request waits. */
  readonly place?: Place;
  /** Each request that waits takes one of these. */
  readonly waits?: { readonly places: Places; readonly key: string };
}

/** What only this package knows of a request. */
interface Standing {
  readonly leave: () => () => void;
  /** @returns null when too many requests wait already */
  readonly enterWait: () => (() => void) | null;
}

const nothing = (): void => undefined;
const withoutStanding: Standing = { leave: () => nothing, enterWait: () => nothing };

const standings = new WeakMap<RequestScope, Standing>();

/** The scope of a request. A plain object of the same shape is one too, of a request that occupies nothing. */
export function openScope(options: ScopeOptions & { readonly signal: AbortSignal }): RequestScope {
  const { signal, deadline = Number.POSITIVE_INFINITY } = options;
  return scopeWith({ signal, deadline }, withoutStanding, options);
}

/** The same request with a nearer deadline, another signal, or once more is known about it. */
export function narrowScope(scope: RequestScope, more: ScopeOptions): RequestScope {
  const { signal = scope.signal, deadline = scope.deadline } = more;
  const narrowed = { signal, deadline: Math.min(scope.deadline, deadline) };
  return scopeWith(narrowed, standings.get(scope) ?? withoutStanding, more);
}

/** The same request with a later deadline, when its work is done once more on its behalf. */
export function extendScope(scope: RequestScope, deadline: number): RequestScope {
  const extended = { signal: scope.signal, deadline: Math.max(scope.deadline, deadline) };
  return scopeWith(extended, standings.get(scope) ?? withoutStanding, {});
}

function scopeWith(
  { signal, deadline }: RequestScope,
  standing: Standing,
  { place, waits }: ScopeOptions,
): RequestScope {
  const scope = { signal, deadline };
  standings.set(scope, {
    leave: place === undefined ? standing.leave : (overlapping(place.leave) as Standing['leave']),
    enterWait: waits === undefined ? standing.enterWait : overlapping(() => waits.places.take(waits.key)),
  });
  return scope;
}

/**
 * Waits for something on behalf of a request, without its place among the requests that are worked on. Waits of one request may
 * overlap, and count once.
 *
 * @throws NotAdmitted `full`, `own` at once when too many requests with its key wait already
 */
export async function waiting<T>(scope: RequestScope, wait: () => Promise<T>): Promise<T> {
  const endWait = beginWait(scope);
  if (endWait === null) throw new NotAdmitted('full', 'own');
  try {
    return await wait();
  } finally {
    endWait();
  }
}

/** The same for a wait that ends elsewhere. @returns ends it; null when too many requests with its key wait already */
export function beginWait(scope: RequestScope): (() => void) | null {
  const { enterWait, leave } = standings.get(scope) ?? withoutStanding;
  const endWait = enterWait();
  if (endWait === null) return null;
  const comeBack = leave();
  return () => {
    comeBack();
    endWait();
  };
}

/**
 * Lets something outside this process do the work of a request: a call of an upstream, a client that reads a stream. The request has
 * no place meanwhile, as with `waiting`, and does not count as a waiting one.
 */
export async function outside<T>(scope: RequestScope, call: () => Promise<T>): Promise<T> {
  const comeBack = (standings.get(scope) ?? withoutStanding).leave();
  try {
    return await call();
  } finally {
    comeBack();
  }
}

/** Takes once for all that overlap. */
function overlapping(take: () => (() => void) | null): () => (() => void) | null {
  let times = 0;
  let giveBack: () => void = nothing;
  return () => {
    if (times === 0) {
      const taken = take();
      if (taken === null) return null;
      giveBack = taken;
    }
    times += 1;
    return () => {
      times -= 1;
      if (times === 0) giveBack();
    };
  };
}

/** A monotonic clock with timers, replaceable in tests. */
export interface Clock {
  /** Milliseconds; never goes back. */
  now(): number;
  /**
   * Calls `run` once after `ms`.
   *
   * @param keepsAlive whether the process must not end before. Default: true
   * @returns a function that cancels the call
   */
  after(ms: number, run: () => void, keepsAlive?: boolean): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run, keepsAlive = true) {
    // A timer takes a millisecond at least.
    if (ms <= 0) {
      const soon = setImmediate(run);
      if (!keepsAlive) soon.unref();
      return () => clearImmediate(soon);
    }
    const timer = setTimeout(run, ms);
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Lets time pass, or less of it when the signal aborts.
 *
 * @throws the reason of the signal
 */
export async function passTime(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (): void => reject(signal.reason);
  const callOff = clock.after(ms, resolve);
  signal.addEventListener('abort', giveUp);
  return promise.finally(() => {
    callOff();
    signal.removeEventListener('abort', giveUp);
  });
}
