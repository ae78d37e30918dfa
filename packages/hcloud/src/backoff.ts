/** Grows with each attempt up to `capMs`, and half of it is random, so that replicas do not come back together. */
export function backoffMs(attempt: number, { firstMs, capMs }: { firstMs: number; capMs: number }): number {
  const full = Math.min(capMs, firstMs * 2 ** attempt);
  return full / 2 + Math.random() * (full / 2);
}

/** How long a request may still begin calls. On the monotonic clock: a corrected wall clock must not prolong it. */
export function startPatience(ms: number): { leftMs(): number } {
  const end = performance.now() + ms;
  return { leftMs: () => end - performance.now() };
}
