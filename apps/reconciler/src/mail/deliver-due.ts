import { backoffMs, type Log, spreadMs } from '@corral/service';
import { retry } from '../loop/claim.js';
import { inBatches } from '../loop/work.js';
import type { Delivery } from './connect-mail-server.js';
import type { Place, RenderedMail } from './render-invitation.js';

/** Rows that are the outbox of their mails. */
export interface Outbox<D extends { readonly failures: number }> {
  /** Claims due mails. They are due again after `claimMs` unless an outcome is recorded. */
  claimDue(limit: number, claimMs: number): Promise<D[]>;
  render(due: D, place: Place): RenderedMail;
  /** What names the mail in the log: not its recipient. */
  labels(due: D): Readonly<Record<string, string>>;
  recordSent(due: D): Promise<void>;
  recordFailure(due: D, againMs: number): Promise<void>;
}

export interface DeliveryDeps {
  /** Passes a mail to the mail server. Never rejects. */
  readonly deliver: (mail: RenderedMail) => Promise<Delivery>;
  /** Links in mails lead there. */
  readonly place: Place;
  readonly onOutcome: (outcome: Delivery['kind']) => void;
  readonly log: Log;
}

/** Number of concurrent deliveries, so that one slow delivery does not delay all. */
const BATCH = 5;
/** Longer than a delivery. */
const CLAIM_MS = 120_000;

/**
 * Sends due mails at least once: one that was sent but not recorded is sent again with the same Message-ID. Failed ones are due again
 * later.
 *
 * @returns the number of attempts
 */
export const deliverDue =
  <D extends { readonly failures: number }>(outbox: Outbox<D>, deps: DeliveryDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => outbox.claimDue(limit, CLAIM_MS);
    return inBatches({ claim, work: (due: D) => deliverOne(outbox, deps, due), size: BATCH }, signal);
  };

/** A rejected mailbox may be created later, but frequent retries are unwelcome. */
const REFUSED_RETRY_MS = 6 * 3_600_000;

/** @param random in [0, 1], so that mails that failed together are not retried together */
export function retryMs({ kind }: Delivery, failures: number, random: number): number {
  const base = kind === 'refused' ? REFUSED_RETRY_MS : backoffMs(failures, retry);
  return Math.round(spreadMs(base, random));
}

async function deliverOne<D extends { readonly failures: number }>(
  outbox: Outbox<D>,
  { deliver, place, onOutcome, log }: DeliveryDeps,
  due: D,
): Promise<void> {
  const delivery = await deliver(outbox.render(due, place));
  onOutcome(delivery.kind);
  if (delivery.kind === 'sent') return outbox.recordSent(due);
  const againMs = retryMs(delivery, due.failures, Math.random());
  log.warn('mail not taken', { ...outbox.labels(due), ...delivery, failures: due.failures + 1, againMs });
  await outbox.recordFailure(due, againMs);
}
