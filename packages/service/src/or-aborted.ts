/**
 * Waits for work only until the signal. What comes of the work later is dropped.
 *
 * @param errorOf what to fail with when the signal comes first
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal, errorOf: () => Error): Promise<T> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(errorOf());
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
