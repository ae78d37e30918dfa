import type { RrsetSource } from '@corral/dns-mirror';
import { orAborted } from '@corral/service';

/** The process is shutting down: what was begun is left for the next one. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  constructor() {
    super('The reconciler is shutting down.');
  }
}

/**
 * Makes a read and waits for it only until the signal: nothing hangs on a read that nobody looks at any more.
 *
 * @throws Stopped when the signal comes first; an answer or error that comes later is dropped
 */
export async function unlessStopped<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw new Stopped();
  return orAborted(read(), signal, () => new Stopped());
}

/** Reads of a source, each waited for only until the signal. */
export function untilStopped(source: RrsetSource, signal: AbortSignal): RrsetSource {
  return {
    readRrset: (...asked) => unlessStopped(() => source.readRrset(...asked), signal),
    readZone: (...asked) => unlessStopped(() => source.readZone(...asked), signal),
  };
}
