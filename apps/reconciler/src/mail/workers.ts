import type { Prisma } from '@corral/database';
import type { JobHandlers } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { holdStore, unlessHeld } from '../hold/hold-store.js';
import { withSignal } from '../loop/run-bounds.js';
import type { MailServer } from './connect-mail-server.js';
import type { Place } from './render-invitation.js';
import { sendMails } from './send-mails.js';
import { mailStore } from './store.js';

export interface MailWorkerDeps {
  readonly settings: {
    /** Where invitations are accepted. */
    readonly place: Place;
  };
  readonly prisma: Prisma;
  readonly mailServer: MailServer;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface MailWorkers {
  sendMails(signal: AbortSignal): Promise<number>;
  readonly handlers: JobHandlers<'mail'>;
  readonly concurrency: number;
}

/** Wires the loop over mails. */
export function buildMailWorkers({ settings, prisma, mailServer, metrics, log }: MailWorkerDeps): MailWorkers {
  const outcomes = metrics.counter({
    name: 'corral_mails_total',
    help: 'Deliveries of mails, by outcome',
    labelNames: ['outcome'],
  });
  const send = sendMails({
    store: mailStore(prisma),
    deliver: mailServer.deliver,
    place: settings.place,
    log,
    onOutcome: (outcome) => outcomes.inc({ outcome }),
  });
  return {
    sendMails: send,
    handlers: { 'send-mails': withSignal(unlessHeld(holdStore(prisma), send)) },
    concurrency: 2,
  };
}
