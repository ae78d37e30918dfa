/** Full jitter: anything from 0 to a bound that doubles with each attempt, so that replicas do not come back together. */
export function fullJitterMs(attempt: number, { firstMs, capMs }: { firstMs: number; capMs: number }): number {
  return Math.random() * Math.min(capMs, firstMs * 2 ** attempt);
}
