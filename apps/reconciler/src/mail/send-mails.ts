import type { Log } from '@corral/service';
import { backoffMs, spreadMs } from '../loop/backoff.js';
import { inBatches } from '../loop/in-batches.js';
import type { Delivery } from './connect-mail-server.js';
import type { DueMail, MailStore } from './mail-store.js';
import { type Place, type RenderedMail, renderInvitation } from './render-invitation.js';

export interface SendMailsDeps {
  readonly store: MailStore;
  /** Hands a mail to the mail server. Never rejects. */
  readonly deliver: (mail: RenderedMail) => Promise<Delivery>;
  /** Where people accept. */
  readonly place: Place;
  readonly onOutcome: (outcome: Delivery['kind']) => void;
  readonly log: Log;
  readonly random?: () => number;
}

/** One after the other would let a slow mail server hold up all; more is not asked of it at once. */
const BATCH = 5;
/** Longer than a delivery takes. */
const HOLD_MS = 120_000;

const retry = { firstMs: 10_000, maxMs: 3_600_000 };
/** A mailbox that is not there may be made, and nobody likes those who keep asking. */
const REFUSED_RETRY_MS = 6 * 3_600_000;

/**
 * Sends the mails of invitations that are due. At least once: what was sent and could not be recorded is sent again, with
 * the same Message-ID. A mail that is not taken is tried until its invitation runs out.
 *
 * @returns how many were tried
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
  // Not whom it was for: the invitation says that to those who may know.
  log.warn('mail not taken', { invitationId: due.id, ...delivery, failures: due.failures + 1, againMs });
  await store.recordFailure(due, againMs);
}

/** @param random from 0 to 1: mails that failed together are not tried together for ever */
export function retryMs({ kind }: Delivery, failures: number, random: number): number {
  const base = kind === 'refused' ? REFUSED_RETRY_MS : backoffMs(failures, retry);
  return Math.round(spreadMs(base, random));
}
