import { backoffMs, spreadMs } from '@corral/service';
import { retry } from '../loop/claim.js';
import type { Delivery } from './connect-mail-server.js';

/** A rejected mailbox may be created later, but frequent retries are unwelcome. */
const REFUSED_RETRY_MS = 6 * 3_600_000;

/** @param random in [0, 1], so that mails that failed together are not retried together */
export function retryMs({ kind }: Delivery, failures: number, random: number): number {
  const base = kind === 'refused' ? REFUSED_RETRY_MS : backoffMs(failures, retry);
  return Math.round(spreadMs(base, random));
}
