import { apiVersion, type WebhookBody } from '@corral/contracts';
import type { WebhookRecord } from './store.js';

/** @param team its slug */
export const webhookBody = (webhook: WebhookRecord, team: string): WebhookBody => ({
  apiVersion,
  kind: 'Webhook',
  metadata: {
    name: webhook.name,
    id: webhook.id,
    team,
    createdAt: webhook.createdAt.toISOString(),
    updatedAt: webhook.updatedAt.toISOString(),
  },
  spec: { url: webhook.spec.url, kinds: [...webhook.spec.kinds] },
  status: {
    deliveredAt: webhook.deliveredAt?.toISOString() ?? null,
    failingSince: webhook.failingSince?.toISOString() ?? null,
    failures: webhook.failures,
    lastFailure: webhook.lastFailure,
    nextTryAt: webhook.failingSince === null ? null : webhook.dueAt.toISOString(),
  },
});
