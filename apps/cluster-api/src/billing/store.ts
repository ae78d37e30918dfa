import { asTeamId, type Subscription, type TeamId } from '@corral/contracts';
import type { Prisma, Transaction } from '@corral/database';

/** The stored state of a team's subscription. */
export interface SubscriptionRecord {
  /** Null when the team has no subscription. */
  readonly body: Subscription | null;
  readonly isActive: boolean;
  /** The time by the billing system's clock. */
  readonly statedAt: Date;
}

/** @param named the team's slug or number */
export async function findTeam(
  prisma: Prisma,
  named: string | number,
): Promise<{ readonly id: TeamId; readonly slug: string } | null> {
  const where = typeof named === 'number' ? { number: named } : { slug: named };
  const row = await prisma.team.findUnique({ where, select: { id: true, slug: true } });
  return row && { id: asTeamId(row.id), slug: row.slug };
}

/** Stores the event's id. @returns false when the event was already processed */
export async function registerEvent(tx: Transaction, id: string, now: Date): Promise<boolean> {
  const { count } = await tx.billingEvent.createMany({ data: [{ id, receivedAt: now }], skipDuplicates: true });
  return count === 1;
}

/** @returns null before the first event */
export async function findSubscription(tx: Transaction, teamId: TeamId): Promise<SubscriptionRecord | null> {
  const row = await tx.subscription.findUnique({ where: { teamId } });
  return row && { body: bodyOf(row.body), isActive: row.isActive, statedAt: row.statedAt };
}

/** Subscriptions are one per team. An ended one keeps its row, so that a late event cannot revive it. */
export async function saveSubscription(
  tx: Transaction,
  teamId: TeamId,
  { body, isActive, statedAt }: SubscriptionRecord,
  now: Date,
): Promise<void> {
  const columns = { body: (body ?? {}) as object, isActive, statedAt, updatedAt: now };
  await tx.subscription.upsert({ where: { teamId }, create: { teamId, ...columns }, update: columns });
}

const bodyOf = (stored: unknown): Subscription | null => {
  const body = stored as Subscription | Record<string, never>;
  return 'id' in body ? (body as Subscription) : null;
};
