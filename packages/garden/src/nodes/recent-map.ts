/** A map that keeps those of its entries that were used last. */
export interface RecentMap<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
  values(): Iterable<T>;
}

/** @param onGone called with each value that leaves the map: pushed out, replaced or deleted */
export function createRecentMap<T>(max: number, onGone: (value: T) => void): RecentMap<T> {
  // A Map has its entries in the order in which they were set.
  const entries = new Map<string, T>();
  const remove = (key: string) => {
    const value = entries.get(key);
    if (value === undefined) return;
    entries.delete(key);
    onGone(value);
  };
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      remove(key);
      entries.set(key, value);
      for (const oldest of entries.keys()) {
        if (entries.size <= max) break;
        remove(oldest);
      }
    },
    delete: remove,
    values: () => entries.values(),
  };
}
