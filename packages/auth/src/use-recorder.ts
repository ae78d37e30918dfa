export interface UseRecorder {
  note(id: string): void;
  /** Writes what is left and stops. */
  close(): Promise<void>;
}

const FLUSH_MS = 10_000;

/**
 * Keeps when things were last used, in one statement per interval whatever the traffic. A crash loses one interval.
 *
 * @param write takes the ids in order, and how many ms ago each was last used: clocks of processes differ, how long
 *   something is ago does not. What it fails on is tried again
 */
export function useRecorder(
  write: (ids: string[], agesMs: number[]) => Promise<unknown>,
  onError: (error: Error) => void,
): UseRecorder {
  let used = new Map<string, number>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const batch = used;
    used = new Map();
    try {
      const ids = [...batch.keys()].sort();
      const now = performance.now();
      await write(
        ids,
        ids.map((id) => now - (batch.get(id) as number)),
      );
    } catch (error) {
      for (const [id, at] of batch) if (!used.has(id)) used.set(id, at);
      onError(error as Error);
    }
  };
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    note: (id) => void used.set(id, performance.now()),
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}
