import {
  type ClusterOperationId,
  isClusterName,
  parseWebhookPut,
  parseWebhookReplay,
  textRules,
} from '@corral/contracts';
import type { Request, RequestHandler } from 'express';
import { personCallerOf } from '../http/caller.js';
import { bodyOf, checkNamed } from '../http/request.js';
import { badNameInPath, found, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { findWebhook, listWebhooks } from './store.js';
import { webhookBody } from './view.js';
import { putWebhook, removeWebhook, replaceSecret, replayWebhook, testWebhook } from './webhooks.js';

/** The handlers of webhooks. */
export function webhookRoutes(services: Services) {
  const { prisma, changeTeam } = services;
  return {
    async listWebhooks(_req, res) {
      const { team } = personCallerOf(res);
      const webhooks = await listWebhooks(prisma, team.id);
      res.json({ items: webhooks.map((webhook) => webhookBody(webhook, team.slug)) });
    },

    async getWebhook(req, res) {
      const { team } = personCallerOf(res);
      res.json(webhookBody(found(await findWebhook(prisma, team.id, nameIn(req))), team.slug));
    },

    async putWebhook(req, res) {
      const caller = personCallerOf(res);
      const { slug } = caller.team;
      const name = req.params.webhook as string;
      const { spec, metadata } = parseWebhookPut(bodyOf(req));
      if (!isClusterName(name)) throw badNameInPath('webhook', textRules.name);
      checkNamed('name', metadata?.name, name);
      const { webhook, secret } = await putWebhook(services, caller, name, spec);
      const body = webhookBody(webhook, slug);
      if (secret === null) return void res.json(body);
      res.status(201).location(`/api/v1/teams/${slug}/webhooks/${name}/`);
      res.json({ ...body, secret });
    },

    async deleteWebhook(req, res) {
      await removeWebhook(changeTeam, personCallerOf(res), nameIn(req));
      res.status(204).end();
    },

    async createWebhookSecret(req, res) {
      const { secret, previousUntil } = await replaceSecret(services, personCallerOf(res), nameIn(req));
      res.status(201).json({ secret, previousUntil: previousUntil.toISOString() });
    },

    async testWebhook(req, res) {
      const caller = personCallerOf(res);
      res.json(webhookBody(await testWebhook(changeTeam, caller, nameIn(req)), caller.team.slug));
    },

    async replayWebhook(req, res) {
      const caller = personCallerOf(res);
      const { since } = parseWebhookReplay(bodyOf(req));
      res.json(webhookBody(await replayWebhook(changeTeam, caller, nameIn(req), since), caller.team.slug));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** @throws Problem `not_found` for a name that no webhook can have */
function nameIn({ params: { webhook } }: Request): string {
  if (typeof webhook !== 'string' || !isClusterName(webhook)) throw notFound();
  return webhook;
}
