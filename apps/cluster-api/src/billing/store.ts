import { asTeamId, type Subscription, type TeamId } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { recordAudit } from '../audit/record-audit.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import type { SubscriptionRecord, SubscriptionStore, SubscriptionTransaction } from './billing.js';

/** Subscriptions, one per team. An ended one keeps its row, so that a late event cannot revive it. */
export const subscriptionStore = (prisma: Prisma, change: ChangeTeam): SubscriptionStore => ({
  async change(named, { requestId, ...request }, work) {
    const where = typeof named === 'number' ? { number: named } : { slug: named };
    const row = await prisma.team.findUnique({ where, select: { id: true, slug: true } });
    if (row === null) return null;
    const team = { id: asTeamId(row.id), slug: row.slug };
    return change({ ...request, team }, async (tx, now) => work(await transactionOf(tx, team, { requestId, now })));
  },
});

async function transactionOf(
  tx: Transaction,
  team: { id: TeamId; slug: string },
  { requestId, now }: { requestId: string; now: Date },
): Promise<SubscriptionTransaction> {
  const teamId = team.id;
  const row = await tx.subscription.findUnique({ where: { teamId } });
  return {
    now,
    current: row && { body: bodyOf(row.body), isActive: row.isActive, statedAt: row.statedAt },
    async registerEvent(id) {
      const { count } = await tx.billingEvent.createMany({ data: [{ id, receivedAt: now }], skipDuplicates: true });
      return count === 1;
    },
    async save({ body, isActive, statedAt }: SubscriptionRecord, eventId) {
      const columns = { body: (body ?? {}) as object, isActive, statedAt, updatedAt: now };
      await tx.subscription.upsert({ where: { teamId }, create: { teamId, ...columns }, update: columns });
      await recordAudit(
        tx,
        { userId: null, team, requestId },
        {
          action: 'subscription.state',
          target: { kind: 'Subscription', id: teamId, name: body?.id ?? '' },
          detail: { eventId, status: body?.status ?? null, isActive, statedAt: statedAt.toISOString() },
        },
      );
    },
  };
}

const bodyOf = (stored: unknown): Subscription | null => {
  const body = stored as Subscription | Record<string, never>;
  return 'id' in body ? (body as Subscription) : null;
};
