/** All limits are stated per minute. */
export const MINUTE_MS = 60_000;

/** The value of a `Retry-After`: never too early. */
export const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));
