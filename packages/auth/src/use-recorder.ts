export interface UseRecorder {
  note(id: string): void;
  /** Writes what is left and stops. */
  close(): Promise<void>;
}

const FLUSH_MS = 10_000;

/**
 * Keeps when things were last used, in one statement per interval whatever the traffic. A crash loses one interval.
 *
 * @param write takes the ids and the time of the last use of each; what it fails on is tried again
 */
export function useRecorder(
  write: (ids: string[], times: Date[]) => Promise<unknown>,
  onError: (error: Error) => void,
): UseRecorder {
  let used = new Map<string, Date>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const batch = used;
    used = new Map();
    try {
      await write([...batch.keys()], [...batch.values()]);
    } catch (error) {
      for (const [id, at] of batch) if (!used.has(id)) used.set(id, at);
      onError(error as Error);
    }
  };
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    note: (id) => void used.set(id, new Date()),
    close: async () => {
      clearInterval(timer);
      await flush();
    },
  };
}
