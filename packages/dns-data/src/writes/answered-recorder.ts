import type { WriteLedger } from './write-ledger.js';

export interface AnsweredRecorder {
  /** Records that this entry's client received its answer. */
  note(entryId: number): void;
  has(entryId: number): boolean;
  /** Writes the rest and stops. */
  close(): Promise<void>;
}

const FLUSH_MS = 200;

/**
 * Remembers which answers were delivered: immediately in this process, and for other processes with one statement per
 * interval. An entry lost in a crash counts as undelivered, so an identical write gets the same answer again.
 */
export function answeredRecorder(
  ledger: Pick<WriteLedger, 'markAnswered'>,
  replayMs: number,
  onError: (error: Error) => void,
): AnsweredRecorder {
  const noted = new Map<number, number>();
  let unwritten: number[] = [];
  let flushing: Promise<void> = Promise.resolve();

  const flush = async (): Promise<void> => {
    const oldest = Date.now() - replayMs;
    for (const [entryId, at] of noted) {
      if (at >= oldest) break;
      noted.delete(entryId);
    }
    if (unwritten.length === 0) return;
    const batch = unwritten;
    unwritten = [];
    try {
      await ledger.markAnswered(batch);
    } catch (error) {
      unwritten = batch.filter((entryId) => noted.has(entryId)).concat(unwritten);
      onError(error as Error);
    }
  };
  const timer = setInterval(() => {
    flushing = flushing.then(flush);
  }, FLUSH_MS).unref();

  return {
    note(entryId) {
      noted.set(entryId, Date.now());
      unwritten.push(entryId);
    },
    has: (entryId) => noted.has(entryId),
    close: async () => {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}
