import type { JobHandlers } from '@corral/queue';
import type { KeyRing } from '@corral/secrets';
import type { CallGuard } from '@corral/service';
import { holdStore, unlessHeld } from '../loop/hold.js';
import { withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import { deliverWebhooks } from './deliver.js';
import { webhookStore } from './store.js';

export interface WebhookOptions {
  /** Decrypt the secrets of webhooks. */
  readonly keys: KeyRing;
  readonly guard: Pick<CallGuard, 'call'>;
}

/** Webhooks that one sweep finds. The next one finds more. */
const SWEPT_MAX = 500;

/** Wires the deliveries to webhooks. */
export function buildWebhookWorkers(services: Services, { keys, guard }: WebhookOptions) {
  const { prisma, queue, metrics, log } = services;
  const deliveries = metrics.counter({
    name: 'corral_webhook_deliveries_total',
    help: 'Attempts to deliver a message to a webhook, by outcome',
    labelNames: ['outcome'],
  });
  const store = webhookStore(prisma);
  const onOutcome = (outcome: string) => deliveries.inc({ outcome });
  const deliver = deliverWebhooks({ prisma, store, keys, call: guard.call, onOutcome, log });
  const sweep = async (signal: AbortSignal): Promise<void> => {
    for (const id of await store.findDue(SWEPT_MAX)) {
      if (signal.aborted) return;
      await queue.nudge('deliver-webhook', { webhookId: id }, { jobId: id });
    }
  };
  const holds = holdStore(prisma);
  return {
    deliver,
    /** Sends the jobs of webhooks that are due. */
    sweep,
    handlers: {
      'deliver-webhook': ({ webhookId }, { signal }) => unlessHeld(holds, () => deliver(webhookId, signal))(signal),
      'sweep-webhooks': withSignal(sweep),
    } satisfies JobHandlers<'webhooks'>,
    concurrency: 16,
  };
}
