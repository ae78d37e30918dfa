import { type NotificationKind, notificationKinds, type UserId } from '@corral/contracts';
import type { Prisma } from '@corral/database';

/* The store keeps the kinds of mail that a person does not want, so that they get new kinds. */

/** Finds which mails a person gets. */
export async function listNotifications(prisma: Prisma, userId: UserId): Promise<NotificationKind[]> {
  return shown(await prisma.user.findUniqueOrThrow({ where: { id: userId } }));
}

/** Sets which mails a person gets. @returns them in their order */
export async function setNotifications(
  prisma: Prisma,
  userId: UserId,
  kinds: readonly NotificationKind[],
): Promise<NotificationKind[]> {
  const mutedNotifications = notificationKinds.filter((kind) => !kinds.includes(kind));
  return shown(await prisma.user.update({ where: { id: userId }, data: { mutedNotifications } }));
}

const shown = ({ mutedNotifications }: { readonly mutedNotifications: readonly string[] }): NotificationKind[] =>
  notificationKinds.filter((kind) => !mutedNotifications.includes(kind));
