import { isCorralError } from './corral-error.js';
import type { Answer } from './operation-types.js';

const ATTEMPTS = 5;

/**
 * Reads a resource, and changes it only as it was read. If somebody else was faster, it begins again.
 *
 * @param read such as `() => corral.getCluster(web)`
 * @param change sends the change with `ifMatch`
 * @param attempts how often it may begin
 * @throws CorralError `precondition_failed` when somebody else was faster each time
 */
export async function edit<T, R>(
  read: () => Promise<Answer<200, T>>,
  change: (current: T, ifMatch: string | undefined) => Promise<R>,
  attempts = ATTEMPTS,
): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    const { body, etag } = await read();
    try {
      return await change(body, etag ?? undefined);
    } catch (error) {
      if (!isCorralError(error) || error.status !== 412 || attempt >= attempts) throw error;
    }
  }
}
