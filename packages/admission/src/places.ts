/** A number of places per key. */
export interface Places {
  /** @returns a function that gives the place back, which may be called again; null when all are taken */
  take(key: string): (() => void) | null;
}

/** @param max places per key */
export function places(max: number): Places {
  const taken = new Map<string, number>();
  return {
    take(key) {
      const count = taken.get(key) ?? 0;
      if (count >= max) return null;
      taken.set(key, count + 1);
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        const left = (taken.get(key) ?? 1) - 1;
        if (left === 0) taken.delete(key);
        else taken.set(key, left);
      };
    },
  };
}
