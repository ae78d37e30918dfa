import { type Pool, rowClock } from '@corral/database';
import type { InvitationMail } from './render-invitation.js';

/** A mail that one process has claimed until `claimedUntil`. */
export interface DueMail extends InvitationMail {
  /** Number of consecutive failed attempts. */
  readonly failures: number;
  readonly claimedUntil: Date;
}

/** Invitations are the outbox of their mails. */
export const mailStore = (pool: Pool) => ({
  /**
   * Claims due mails. They are due again after `claimMs` unless an outcome is recorded. Invitations that were answered, revoked or
   * have expired have no due mail.
   */
  async claimDue(limit: number, claimMs: number): Promise<DueMail[]> {
    await pool.query(
      `UPDATE invitation SET mail_due_at = NULL
       WHERE mail_due_at <= ${rowClock}
         AND (accepted_at IS NOT NULL OR revoked_at IS NOT NULL OR expires_at <= ${rowClock})`,
    );
    const { rows } = await pool.query<DueMail>(
      `WITH due AS (
         SELECT id FROM invitation
         WHERE mail_due_at <= ${rowClock} AND accepted_at IS NULL AND revoked_at IS NULL
           AND expires_at > ${rowClock}
         ORDER BY mail_due_at, id LIMIT $1 FOR UPDATE SKIP LOCKED
       ), claimed AS (
         UPDATE invitation SET mail_due_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
         FROM due WHERE invitation.id = due.id
         RETURNING invitation.*
       )
       SELECT claimed.id, claimed.email, claimed.role, claimed.expires_at AS "expiresAt",
              claimed.mail_failures AS failures, claimed.mail_due_at AS "claimedUntil",
              COALESCE(NULLIF(team.name, ''), team.slug) AS "teamName", app_user.email AS "inviterEmail",
              COALESCE(NULLIF(app_user.display_name, ''),
                       NULLIF(trim(app_user.first_name || ' ' || app_user.last_name), ''),
                       app_user.email) AS "inviterName"
       FROM claimed JOIN team ON team.id = claimed.team_id JOIN app_user ON app_user.id = claimed.invited_by`,
      [limit, claimMs],
    );
    return rows;
  },

  /** Records nothing when the invitation was renewed in the meantime, because its next mail is due. */
  async recordSent({ id, claimedUntil }: DueMail): Promise<void> {
    await pool.query(
      `UPDATE invitation SET mail_due_at = NULL, mail_sent_at = clock_timestamp(), mail_failures = 0
       WHERE id = $1 AND mail_due_at = $2`,
      [id, claimedUntil],
    );
  },

  async recordFailure({ id, claimedUntil }: DueMail, againMs: number): Promise<void> {
    await pool.query(
      `UPDATE invitation SET mail_failures = mail_failures + 1,
                             mail_due_at = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
       WHERE id = $1 AND mail_due_at = $2`,
      [id, claimedUntil, againMs],
    );
  },
});
export type MailStore = ReturnType<typeof mailStore>;
