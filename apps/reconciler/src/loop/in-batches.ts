export interface Batches<T> {
  /** Takes at most so many upon itself. */
  readonly claim: (limit: number) => Promise<readonly T[]>;
  readonly work: (item: T) => Promise<unknown>;
  readonly size: number;
}

/**
 * Works on what is due, a batch at a time, until no full one is left or the signal comes.
 *
 * @returns how many were worked on
 */
export async function inBatches<T>({ claim, work, size }: Batches<T>, signal: AbortSignal): Promise<number> {
  let done = 0;
  while (!signal.aborted) {
    const batch = await claim(size);
    await Promise.all(batch.map(work));
    done += batch.length;
    if (batch.length < size) break;
  }
  return done;
}
