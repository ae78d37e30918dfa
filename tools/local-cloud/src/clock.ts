/** The time of the local cloud: machine time plus what the admin has advanced it by. */
export class Clock {
  #aheadMs = 0;

  /** Milliseconds since 1970. */
  now = (): number => Date.now() + this.#aheadMs;

  /** Jumps forward by `ms`. */
  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}

/** RFC 3339 in UTC with whole seconds, like the upstream. */
export const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
