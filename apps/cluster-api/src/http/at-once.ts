import { Problem } from '../problem.js';

const RETRY_SECONDS = 10;

/**
 * Bounds what runs long: so much of it at once per key, and who asks for more is told to come back.
 *
 * @param what in the plural, for the refusal
 */
export function atOnce(max: number, what: string) {
  const running = new Map<string, number>();
  /** @throws Problem `rate_limit_exceeded` */
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const before = running.get(key) ?? 0;
    if (before >= max) {
      const detail = `${what}: ${max} at once are possible. Wait until one has ended.`;
      throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: RETRY_SECONDS });
    }
    running.set(key, before + 1);
    try {
      return await work();
    } finally {
      const left = (running.get(key) ?? 1) - 1;
      if (left === 0) running.delete(key);
      else running.set(key, left);
    }
  };
}
