import { type Prisma, readClock, rowClock, sqlText } from '@corral/database';
import type { InvitationMail } from './render-invitation.js';

/** A mail that one process has claimed until `claimedUntil`. */
export interface DueMail extends InvitationMail {
  /** Number of consecutive failed attempts. */
  readonly failures: number;
  readonly claimedUntil: Date;
}

/** Invitations are the outbox of their mails. */
export const mailStore = (prisma: Prisma) => ({
  /**
   * Claims due mails. They are due again after `claimMs` unless an outcome is recorded. Invitations that were answered, revoked or
   * have expired have no due mail.
   */
  async claimDue(limit: number, claimMs: number): Promise<DueMail[]> {
    const now = await readClock(prisma);
    await prisma.invitation.updateMany({
      where: {
        mailDueAt: { lte: now },
        OR: [{ acceptedAt: { not: null } }, { revokedAt: { not: null } }, { expiresAt: { lte: now } }],
      },
      data: { mailDueAt: null },
    });
    return prisma.$queryRaw<DueMail[]>`
       WITH due AS (
         SELECT id FROM invitation
         WHERE mail_due_at <= ${sqlText(rowClock)} AND accepted_at IS NULL AND revoked_at IS NULL
           AND expires_at > ${sqlText(rowClock)}
         ORDER BY mail_due_at, id LIMIT ${limit} FOR UPDATE SKIP LOCKED
       ), claimed AS (
         UPDATE invitation SET mail_due_at = clock_timestamp() + make_interval(secs => ${claimMs}::float8 / 1000)
         FROM due WHERE invitation.id = due.id
         RETURNING invitation.*
       )
       SELECT claimed.id, claimed.email, claimed.role::text AS role, claimed.expires_at AS "expiresAt",
              claimed.mail_failures AS failures, claimed.mail_due_at AS "claimedUntil",
              COALESCE(NULLIF(team.name, ''), team.slug) AS "teamName", app_user.email AS "inviterEmail",
              COALESCE(NULLIF(app_user.display_name, ''),
                       NULLIF(trim(app_user.first_name || ' ' || app_user.last_name), ''),
                       app_user.email) AS "inviterName"
       FROM claimed JOIN team ON team.id = claimed.team_id JOIN app_user ON app_user.id = claimed.invited_by`;
  },

  /** Records nothing when the invitation was renewed in the meantime, because its next mail is due. */
  async recordSent({ id, claimedUntil }: DueMail): Promise<void> {
    await prisma.invitation.updateMany({
      where: { id, mailDueAt: claimedUntil },
      data: { mailDueAt: null, mailSentAt: await readClock(prisma), mailFailures: 0 },
    });
  },

  async recordFailure({ id, claimedUntil }: DueMail, againMs: number): Promise<void> {
    await prisma.invitation.updateMany({
      where: { id, mailDueAt: claimedUntil },
      data: { mailFailures: { increment: 1 }, mailDueAt: new Date((await readClock(prisma)).getTime() + againMs) },
    });
  },
});
export type MailStore = ReturnType<typeof mailStore>;
