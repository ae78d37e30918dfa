import { type Prisma, readClock, rowClock } from '@corral/database';
import type { JobHandlers } from '@corral/queue';
import { claimRows, timeIn } from '../loop/claim.js';
import { holdStore, unlessHeld } from '../loop/hold.js';
import { withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import type { Delivery, MailServer } from './connect-mail-server.js';
import { deliverDue, type Outbox } from './deliver-due.js';
import { findNotifications, notificationStore } from './notifications.js';
import { type InvitationMail, type Place, renderInvitation } from './render-invitation.js';

/** A mail that one process has claimed until `claimedUntil`. */
interface DueMail extends InvitationMail {
  /** Number of consecutive failed attempts. */
  readonly failures: number;
  readonly claimedUntil: Date;
}

/** Invitations are the outbox of their mails. */
export const mailStore = (prisma: Prisma): Outbox<DueMail> => ({
  render: renderInvitation,
  // Only the invitation itself may disclose the recipient.
  labels: ({ id }) => ({ invitationId: id }),

  /** Invitations that were answered, revoked or have expired have no due mail: failed ones are retried until then. */
  async claimDue(limit: number, claimMs: number): Promise<DueMail[]> {
    const now = await readClock(prisma);
    await prisma.invitation.updateMany({
      where: {
        mailDueAt: { lte: now },
        OR: [{ acceptedAt: { not: null } }, { revokedAt: { not: null } }, { expiresAt: { lte: now } }],
      },
      data: { mailDueAt: null },
    });
    const when = `accepted_at IS NULL AND revoked_at IS NULL AND expires_at > ${rowClock}`;
    const column = { table: 'invitation', due: 'mail_due_at', when };
    const claimed = await claimRows(prisma, column, { limit, retryMs: claimMs });
    if (claimed.size === 0) return [];
    const rows = await prisma.invitation.findMany({
      where: { id: { in: [...claimed.keys()] } },
      include: { team: true, inviter: true },
    });
    return rows.map(({ id, email, role, expiresAt, mailFailures, team, inviter }) => ({
      id,
      email,
      role,
      expiresAt,
      failures: mailFailures,
      claimedUntil: claimed.get(id) as Date,
      teamName: team.name || team.slug,
      inviterEmail: inviter.email,
      inviterName: inviter.displayName || `${inviter.firstName} ${inviter.lastName}`.trim() || inviter.email,
    }));
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
      data: { mailFailures: { increment: 1 }, mailDueAt: await timeIn(prisma, againMs) },
    });
  },
});

export interface MailOptions {
  readonly settings: {
    /** Invitations are accepted there. */
    readonly place: Place;
  };
  readonly mailServer: MailServer;
}

/** Wires the loop over mails. */
export function buildMailWorkers(services: Services, { settings, mailServer }: MailOptions) {
  const { prisma, metrics, log } = services;
  const outcomes = metrics.counter({
    name: 'corral_mails_total',
    help: 'Deliveries of mails, by outcome',
    labelNames: ['outcome'],
  });
  const shared = {
    deliver: mailServer.deliver,
    place: settings.place,
    log,
    onOutcome: (outcome: Delivery['kind']) => outcomes.inc({ outcome }),
  };
  const invitations = deliverDue(mailStore(prisma), shared);
  const notifications = deliverDue(notificationStore(prisma), shared);
  const send = async (signal: AbortSignal) => (await invitations(signal)) + (await notifications(signal));
  const find = () => findNotifications(prisma);
  const holds = holdStore(prisma);
  return {
    sendMails: send,
    findNotifications: find,
    handlers: {
      'send-mails': withSignal(unlessHeld(holds, send)),
      'find-notifications': withSignal(unlessHeld(holds, find)),
    } satisfies JobHandlers<'mail'>,
    concurrency: 2,
  };
}
