import { type ClusterOperationId, parseNotificationsPut } from '@corral/contracts';
import type { RequestHandler } from 'express';
import { signedInOf } from '../http/caller.js';
import { bodyOf } from '../http/request.js';
import type { Services } from '../services.js';
import { listNotifications, setNotifications } from './store.js';

/** The handlers that show and set which mails a person gets. */
export function notificationRoutes({ prisma }: Services) {
  return {
    async getNotifications(_req, res) {
      res.json({ kinds: await listNotifications(prisma, signedInOf(res).userId) });
    },

    async putNotifications(req, res) {
      const { kinds } = parseNotificationsPut(bodyOf(req));
      res.json({ kinds: await setNotifications(prisma, signedInOf(res).userId, kinds) });
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
