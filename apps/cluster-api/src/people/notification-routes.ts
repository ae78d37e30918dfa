import { type ClusterOperationId, notificationKinds, parseNotificationsPut } from '@corral/contracts';
import type { RequestHandler } from 'express';
import { signedInOf } from '../http/caller.js';
import { bodyOf } from '../http/request.js';
import type { Services } from '../services.js';

/** Which mails a person gets. Stored are those that they do not want, so that they get new kinds. */
export function notificationRoutes({ prisma }: Services) {
  const shown = (muted: readonly string[]) => ({ kinds: notificationKinds.filter((kind) => !muted.includes(kind)) });
  return {
    async getNotifications(_req, res) {
      const where = { id: signedInOf(res).userId };
      const { mutedNotifications } = await prisma.user.findUniqueOrThrow({ where });
      res.json(shown(mutedNotifications));
    },

    async putNotifications(req, res) {
      const { kinds } = parseNotificationsPut(bodyOf(req));
      const mutedNotifications = notificationKinds.filter((kind) => !kinds.includes(kind));
      await prisma.user.update({ where: { id: signedInOf(res).userId }, data: { mutedNotifications } });
      res.json(shown(mutedNotifications));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
