import { type NotificationKind, notificationKinds, type UserId } from '@corral/contracts';
import type { Prisma } from '@corral/database';

/* The store keeps the kinds of mail that a person does not want, so that they get new kinds. */

/** Finds which mails a person gets. */
export async function listNotifications(prisma: Prisma, userId: UserId): Promise<NotificationKind[]> {
  const { mutedNotifications } = await prisma.user.findUniqueOrThrow({ where: { id: userId } });
  return notificationKinds.filter((kind) => !mutedNotifications.includes(kind));
}

/** Sets which mails a person gets. */
export async function setNotifications(
  prisma: Prisma,
  userId: UserId,
  kinds: readonly NotificationKind[],
): Promise<void> {
  const mutedNotifications = notificationKinds.filter((kind) => !kinds.includes(kind));
  await prisma.user.update({ where: { id: userId }, data: { mutedNotifications } });
}
