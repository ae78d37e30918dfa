import { type Prisma, readClock, rowClock } from '@corral/database';
import type { JobHandlers } from '@corral/queue';
import type { Log } from '@corral/service';
import { claimRows, timeIn } from '../loop/claim.js';
import { holdStore, unlessHeld } from '../loop/hold.js';
import { inBatches, withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import type { Delivery, MailServer } from './connect-mail-server.js';
import { findNotifications, sendNotifications } from './notifications.js';
import { type InvitationMail, type Place, type RenderedMail, renderInvitation } from './render-invitation.js';
import { retryMs } from './retry.js';

interface SendMailsDeps {
  readonly store: MailStore;
  /** Passes a mail to the mail server. Never rejects. */
  readonly deliver: (mail: RenderedMail) => Promise<Delivery>;
  /** Where invitations are accepted. */
  readonly place: Place;
  readonly onOutcome: (outcome: Delivery['kind']) => void;
  readonly log: Log;
  readonly random?: () => number;
}

/** Number of concurrent deliveries, so that one slow delivery does not delay all. */
const BATCH = 5;
/** Longer than a delivery. */
const HOLD_MS = 120_000;

/**
 * Sends due invitation mails at least once: a mail that was sent but not recorded is sent again with the same Message-ID. Failed
 * mails are retried until the invitation expires.
 *
 * @returns the number of attempts
 */
const sendMails =
  (deps: SendMailsDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, HOLD_MS);
    return inBatches({ claim, work: (due) => sendOne(deps, due), size: BATCH }, signal);
  };

async function sendOne(deps: SendMailsDeps, due: DueMail): Promise<void> {
  const { store, deliver, place, onOutcome, log, random = Math.random } = deps;
  const delivery = await deliver(renderInvitation(due, place));
  onOutcome(delivery.kind);
  if (delivery.kind === 'sent') return store.recordSent(due);
  const againMs = retryMs(delivery, due.failures, random());
  // Without the recipient, which only the invitation itself may disclose.
  log.warn('mail not taken', { invitationId: due.id, ...delivery, failures: due.failures + 1, againMs });
  await store.recordFailure(due, againMs);
}

/** A mail that one process has claimed until `claimedUntil`. */
interface DueMail extends InvitationMail {
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
type MailStore = ReturnType<typeof mailStore>;

export interface MailOptions {
  readonly settings: {
    /** Where invitations are accepted. */
    readonly place: Place;
  };
  readonly mailServer: MailServer;
}

export interface MailWorkers {
  sendMails(signal: AbortSignal): Promise<number>;
  findNotifications(): Promise<number>;
  readonly handlers: JobHandlers<'mail'>;
  readonly concurrency: number;
}

/** Wires the loop over mails. */
export function buildMailWorkers(services: Services, { settings, mailServer }: MailOptions): MailWorkers {
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
  const invitations = sendMails({ ...shared, store: mailStore(prisma) });
  const notifications = sendNotifications({ ...shared, prisma });
  const send = async (signal: AbortSignal) => (await invitations(signal)) + (await notifications(signal));
  const find = () => findNotifications(prisma);
  const holds = holdStore(prisma);
  return {
    sendMails: send,
    findNotifications: find,
    handlers: {
      'send-mails': withSignal(unlessHeld(holds, send)),
      'find-notifications': withSignal(unlessHeld(holds, find)),
    },
    concurrency: 2,
  };
}
