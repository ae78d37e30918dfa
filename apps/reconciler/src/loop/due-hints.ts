import { dueClusters } from '@corral/cluster-data';
import { asClusterId, type ClusterId } from '@corral/contracts';
import { type Listener, type ListenOptions, listen } from '@corral/database';
import type { Log } from '@corral/service';
import type { PassesHere } from './passes-here.js';

/** A connection that died silently costs time only, so it is noticed late. */
const PROBE_EVERY_MS = 30_000;

export interface DueHintsDeps {
  readonly databaseUrl: string;
  readonly here: Pick<PassesHere<ClusterId>, 'take'>;
  readonly log: Log;
  readonly listenTo?: (options: ListenOptions) => Listener;
}

/**
 * Begins passes with the commit of a declaration, until the signal aborts: its job is sent later, and fetched later still. What is
 * not heard, or has no place in this process, is left to the job.
 */
export const followDueHints =
  ({ databaseUrl, here, log, listenTo = listen }: DueHintsDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    const listener = listenTo({
      databaseUrl,
      applicationName: 'corral-reconciler',
      channels: { [dueClusters]: (id) => void here.take(asClusterId(id)) },
      probeEveryMs: PROBE_EVERY_MS,
      onGap: () => undefined,
      onError: (error) => log.warn('declarations not heard, jobs are', { error }),
    });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await listener.close();
  };
