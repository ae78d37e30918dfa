import { type EventPosition, positionColumns, positionIn } from '@corral/cluster-data';
import { asTeamId, asWebhookId, type TeamId, type WebhookId, type WebhookNotice } from '@corral/contracts';
import { type Prisma, readClock, rowClock, sqlText } from '@corral/database';
import type { Sealed } from '@corral/secrets';

/** A webhook that this process may serve until `claimedUntil`. */
export interface ClaimedWebhook {
  readonly id: WebhookId;
  readonly team: { readonly id: TeamId; readonly slug: string };
  readonly url: string;
  /** Empty: all. */
  readonly kinds: readonly string[];
  readonly sealedSecrets: Sealed;
  readonly previousSecretUntil: Date | null;
  readonly position: EventPosition;
  readonly notice: { readonly kind: WebhookNotice; readonly at: Date } | null;
  readonly failures: number;
  readonly failingSince: Date | null;
  readonly claimedUntil: Date;
}

/** What a pass writes. `isAccepted`: the receiver took a message. */
export interface WebhookProgress extends Partial<Pick<ClaimedWebhook, 'position' | 'notice'>> {
  readonly isAccepted?: boolean;
}

const later = (time: Date, ms: number): Date => new Date(time.getTime() + ms);

/** A webhook without events gets a pass that often, so that the age of its position says whether events were lost. */
const QUIET_HOURS = 1;

export const webhookStore = (prisma: Prisma) => {
  /** Writes only while nobody else has the webhook, and nobody has changed when it is due. */
  const write = async (
    { id, claimedUntil }: ClaimedWebhook,
    data: Parameters<Prisma['webhook']['updateMany']>[0]['data'],
  ): Promise<boolean> => {
    const { count } = await prisma.webhook.updateMany({ where: { id, dueAt: claimedUntil }, data });
    return count === 1;
  };

  return {
    /** Webhooks that are due and have something to send, those due longest first. */
    async findDue(limit: number): Promise<WebhookId[]> {
      const rows = await prisma.$queryRaw<{ id: string }[]>`
        SELECT id FROM webhook
        WHERE due_at <= ${sqlText(rowClock)}
          AND (notice IS NOT NULL
               OR position_at < now() - make_interval(hours => ${QUIET_HOURS}::int)
               OR EXISTS (SELECT FROM team_event AS event
                          WHERE event.team_id = webhook.team_id
                            AND (event.xid, event.id) > (webhook.position_xid, webhook.position_id)))
        ORDER BY due_at, id LIMIT ${limit}`;
      return rows.map(({ id }) => asWebhookId(id));
    },

    /** @returns null when it was deleted */
    async teamOf(id: WebhookId): Promise<TeamId | null> {
      const row = await prisma.webhook.findUnique({ where: { id }, select: { teamId: true } });
      return row && asTeamId(row.teamId);
    },

    /** @returns null when it is not due, which includes that another process has it */
    async claim(id: WebhookId, leaseMs: number): Promise<ClaimedWebhook | null> {
      const now = await readClock(prisma);
      const [due, claimedUntil] = [{ id, dueAt: { lte: now } }, later(now, leaseMs)];
      const { count } = await prisma.webhook.updateMany({ where: due, data: { dueAt: claimedUntil } });
      if (count === 0) return null;
      const where = { id, dueAt: claimedUntil };
      const row = await prisma.webhook.findFirst({ where, include: { team: { select: { slug: true } } } });
      if (row === null) return null;
      const { teamId, team, url, kinds, previousSecretUntil, failures, failingSince, noticeAt } = row;
      return {
        ...{ id, url, kinds, previousSecretUntil, failures, failingSince, claimedUntil },
        team: { id: asTeamId(teamId), slug: team.slug },
        sealedSecrets: { keyId: row.secretsKeyId, bytes: row.sealedSecrets },
        position: positionIn(row),
        notice: row.notice === null || noticeAt === null ? null : { kind: row.notice as WebhookNotice, at: noticeAt },
      };
    },

    /** Records progress and extends the claim. @returns null when it was lost */
    async advance(
      webhook: ClaimedWebhook,
      { isAccepted = false, ...progress }: WebhookProgress,
      leaseMs: number,
    ): Promise<ClaimedWebhook | null> {
      const { position, notice } = { ...webhook, ...progress };
      const now = await readClock(prisma);
      const claimedUntil = later(now, leaseMs);
      const accepted = { deliveredAt: now, failures: 0, failingSince: null, lastFailure: null };
      const isOurs = await write(webhook, {
        ...positionColumns(position),
        ...{ notice: notice?.kind ?? null, noticeAt: notice?.at ?? null, dueAt: claimedUntil },
        ...(isAccepted && accepted),
      });
      if (!isOurs) return null;
      return { ...webhook, position, notice, claimedUntil, ...(isAccepted && { failures: 0, failingSince: null }) };
    },

    /** Gives it back, due now. */
    async release(webhook: ClaimedWebhook): Promise<void> {
      await write(webhook, { dueAt: await readClock(prisma) });
    },

    async recordFailure(webhook: ClaimedWebhook, lastFailure: string, againMs: number): Promise<void> {
      const now = await readClock(prisma);
      await write(webhook, {
        ...{ lastFailure, failures: { increment: 1 }, dueAt: later(now, againMs) },
        failingSince: webhook.failingSince ?? now,
      });
    },
  };
};
export type WebhookStore = ReturnType<typeof webhookStore>;
