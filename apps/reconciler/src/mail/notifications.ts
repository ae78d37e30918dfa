import type { NotificationKind } from '@corral/contracts';
import { type Prisma, readClock, rowClock, sqlText } from '@corral/database';
import { timeIn } from '../loop/claim.js';
import type { Outbox } from './deliver-due.js';
import { type Digest, renderDigest } from './render-digest.js';

/* What needs a person's attention. A row of `notification` says what was found for whom, and that its mail is due or was sent. */

/** How long before its end a token is announced. Tokens that live for less than twice as long are not. */
const TOKEN_DAYS = 7;
/** How long before its end of support a version is announced. */
const VERSION_DAYS = 30;
/** Ends within the last so many hours are announced. Longer than any outage that is worth a late mail. */
const RECENT_HOURS = 24;

/**
 * Finds what needs attention and was not found before, for its author if they are still in the team, otherwise for the administrators
 * of the team. What one run finds for a person is one mail.
 *
 * @returns the number of notifications
 */
export const findNotifications = (prisma: Prisma): Promise<number> =>
  prisma.$executeRaw`
    WITH found (kind, team_id, key, author, name, detail, ends_at) AS (
      SELECT 'failed_operations', team_id, id::text, created_by, target_name, kind || ': ' || coalesce(error->>'message', ''),
             NULL::timestamptz
      FROM operation
      WHERE state = 'failed' AND finished_at > now() - make_interval(hours => ${RECENT_HOURS}::int)
      UNION ALL
      SELECT 'rejected_connections', team_id, id || ' ' || token_version, NULL, ref, message, NULL
      FROM connection WHERE phase = 'Rejected'
      UNION ALL
      SELECT 'ending_tokens', team_id, id::text, created_by, name, 'DNS token', expires_at
      FROM dns_token
      WHERE team_id IS NOT NULL AND session_id IS NULL AND revoked_at IS NULL AND expires_at > now()
        AND expires_at < now() + make_interval(days => ${TOKEN_DAYS}::int)
        AND expires_at > created_at + make_interval(days => ${2 * TOKEN_DAYS}::int)
      UNION ALL
      SELECT 'ending_tokens', token.team_id, token.id::text, NULL, account.name, 'token of the service account', token.expires_at
      FROM service_account_token AS token JOIN service_account AS account ON account.id = token.account_id
      WHERE token.issuer_id IS NULL AND token.revoked_at IS NULL AND token.expires_at > now()
        AND token.expires_at < now() + make_interval(days => ${TOKEN_DAYS}::int)
        AND token.expires_at > token.created_at + make_interval(days => ${2 * TOKEN_DAYS}::int)
      UNION ALL
      SELECT 'ending_record_sets', team_id, id::text, NULL, name, type, NULL
      FROM dns_audit_entry
      WHERE operation = 'remind' AND team_id IS NOT NULL
        AND created_at > now() - make_interval(hours => ${RECENT_HOURS}::int)
      UNION ALL
      SELECT 'ending_versions', team_id, id || ' ' || (observed->'kubernetes'->>'version'), NULL, name,
             observed->'kubernetes'->>'version', (observed->'kubernetes'->>'supportedUntil')::timestamptz
      FROM cluster
      WHERE deletion_requested_at IS NULL
        AND (observed->'kubernetes'->>'supportedUntil')::timestamptz
            BETWEEN now() AND now() + make_interval(days => ${VERSION_DAYS}::int)
    )
    INSERT INTO notification (user_id, team_id, kind, key, name, detail, ends_at, mail_due_at)
    SELECT member.user_id, found.team_id, found.kind, found.key, found.name, found.detail, found.ends_at, now()
    FROM found
    JOIN membership AS member ON member.team_id = found.team_id
    JOIN app_user AS person ON person.id = member.user_id AND found.kind <> ALL (person.muted_notifications)
    WHERE member.user_id = found.author
       OR member.role = 'admin'
          AND NOT EXISTS (SELECT FROM membership AS author
                          WHERE author.team_id = found.team_id AND author.user_id = found.author)
    ON CONFLICT (user_id, kind, key) DO NOTHING`;

/** The notifications of one mail, claimed until a time. */
interface ClaimedDigest extends Digest {
  readonly userId: string;
  readonly failures: number;
  readonly claimedUntil: Date;
}

/** The notifications that one run found for a person are one mail. */
export const notificationStore = (prisma: Prisma): Outbox<ClaimedDigest> => ({
  render: renderDigest,
  labels: ({ userId }) => ({ userId }),

  /** Another process that claims the same gets nothing. Who has left the team, or muted the kind, is told nothing more about it. */
  async claimDue(limit: number, claimMs: number): Promise<ClaimedDigest[]> {
    await prisma.$executeRaw`
      DELETE FROM notification
      WHERE mail_due_at <= ${sqlText(rowClock)}
        AND NOT EXISTS (SELECT FROM membership JOIN app_user ON app_user.id = membership.user_id
                        WHERE membership.team_id = notification.team_id AND membership.user_id = notification.user_id
                          AND notification.kind <> ALL (app_user.muted_notifications))`;
    const due = await prisma.notification.groupBy({
      by: ['userId', 'createdAt', 'mailDueAt'],
      where: { mailDueAt: { lte: await readClock(prisma) } },
      orderBy: { mailDueAt: 'asc' },
      take: limit,
    });
    const digests = await Promise.all(due.map((one) => claimDigest(prisma, one, claimMs)));
    return digests.filter((digest) => digest !== null);
  },

  async recordSent(digest: ClaimedDigest): Promise<void> {
    const data = { mailDueAt: null, mailSentAt: await readClock(prisma) };
    await prisma.notification.updateMany({ where: claimedOf(digest), data });
  },

  async recordFailure(digest: ClaimedDigest, againMs: number): Promise<void> {
    const data = { mailFailures: { increment: 1 }, mailDueAt: await timeIn(prisma, againMs) };
    await prisma.notification.updateMany({ where: claimedOf(digest), data });
  },
});

const claimedOf = ({ userId, foundAt: createdAt, claimedUntil: mailDueAt }: ClaimedDigest) => ({
  userId,
  createdAt,
  mailDueAt,
});

async function claimDigest(
  prisma: Prisma,
  { userId, createdAt, mailDueAt }: { userId: string; createdAt: Date; mailDueAt: Date | null },
  claimMs: number,
): Promise<ClaimedDigest | null> {
  const claimedUntil = await timeIn(prisma, claimMs);
  const where = { userId, createdAt };
  const { count } = await prisma.notification.updateMany({
    where: { ...where, mailDueAt },
    data: { mailDueAt: claimedUntil },
  });
  if (count === 0) return null;
  const rows = await prisma.notification.findMany({
    where: { ...where, mailDueAt: claimedUntil },
    orderBy: [{ teamId: 'asc' }, { kind: 'asc' }, { name: 'asc' }],
    include: { team: { select: { slug: true } }, user: { select: { email: true } } },
  });
  const [first] = rows;
  if (first === undefined) return null;
  return {
    ...{ userId, claimedUntil, foundAt: createdAt, failures: first.mailFailures, email: first.user.email },
    items: rows.map(({ team, kind, name, detail, endsAt }) => ({
      ...{ team: team.slug, kind: kind as NotificationKind, name, detail, endsAt },
    })),
  };
}
