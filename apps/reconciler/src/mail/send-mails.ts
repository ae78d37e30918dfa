import { backoffMs, type Log, spreadMs } from '@corral/service';
import { inBatches } from '../loop/run-bounds.js';
import type { Delivery } from './connect-mail-server.js';
import { type Place, type RenderedMail, renderInvitation } from './render-invitation.js';
import type { DueMail, MailStore } from './store.js';

export interface SendMailsDeps {
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

const retry = { firstMs: 10_000, maxMs: 3_600_000 };
/** A rejected mailbox may be created later, but frequent retries are unwelcome. */
const REFUSED_RETRY_MS = 6 * 3_600_000;

/**
 * Sends due invitation mails at least once: a mail that was sent but not recorded is sent again with the same Message-ID. Failed
 * mails are retried until the invitation expires.
 *
 * @returns the number of attempts
 */
export const sendMails =
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

/** @param random in [0, 1], so that mails that failed together are not retried together */
export function retryMs({ kind }: Delivery, failures: number, random: number): number {
  const base = kind === 'refused' ? REFUSED_RETRY_MS : backoffMs(failures, retry);
  return Math.round(spreadMs(base, random));
}
