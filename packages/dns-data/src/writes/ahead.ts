/**
 * Computes a value once: when it is asked for, or before, in a turn of the event loop after the one in which this process has sent
 * what it is about to wait for.
 *
 * @param compute without effects. What it throws is thrown to those who ask
 */
export function ahead<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined;
  const value = (): T => {
    known ??= { value: compute() };
    return known.value;
  };
  setImmediate(() => {
    try {
      value();
    } catch {
      // Computed again when it is asked for, if it is.
    }
  });
  return value;
}
