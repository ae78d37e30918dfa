import { once } from 'node:events';
import { dueClusters } from '@corral/cluster-data';
import { asClusterId, type ClusterId } from '@corral/contracts';
import { listen } from '@corral/database';
import type { Log } from '@corral/service';
import type { PassesHere } from './passes-here.js';

/** A connection that died silently costs time only, so it is noticed late. */
const PROBE_EVERY_MS = 30_000;

export interface DueHintsDeps {
  readonly databaseUrl: string;
  readonly here: Pick<PassesHere<ClusterId>, 'take'>;
  readonly log: Log;
}

/**
 * Begins passes with the commit of a declaration, until the signal aborts: its job is sent later, and fetched later still. What is
 * not heard, or has no place in this process, is left to the job.
 */
export const followDueHints =
  ({ databaseUrl, here, log }: DueHintsDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    const listener = listen({
      databaseUrl,
      applicationName: 'corral-reconciler',
      channels: { [dueClusters]: (id) => void here.take(asClusterId(id)) },
      probeEveryMs: PROBE_EVERY_MS,
      onGap: () => undefined,
      onError: (error) => log.warn('declarations not heard, jobs are', { error }),
    });
    if (!signal.aborted) await once(signal, 'abort');
    await listener.close();
  };
