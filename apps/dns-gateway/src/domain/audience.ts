/** Those who wait for the answer of one write, which is one request sent several times. */
export interface Audience {
  /** Aborted when all have gone. */
  readonly gone: AbortSignal;
  join(gone: AbortSignal): void;
}

/** @param first the signal of the one who asked first; each is aborted when its client goes away */
export function audienceOf(first: AbortSignal): Audience {
  const all = new AbortController();
  let here = 0;
  const join = (gone: AbortSignal): void => {
    const leave = (): void => {
      here -= 1;
      if (here === 0) all.abort();
    };
    here += 1;
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
  };
  join(first);
  return { gone: all.signal, join };
}
