import type { Log } from '@corral/service';
import type { Lease, LeaseStore } from './lease-store.js';

export interface KeptLease {
  /** Aborted when the pass has to stop: the process ends, or a later turn was given out. */
  readonly signal: AbortSignal;
  isOvertaken(): boolean;
  end(): void;
}

/**
 * Renews a lease while a pass lasts. It is short, so that a row whose process died is soon taken up by another one;
 * and a call of the other side may take longer.
 */
export function keepLease(
  { leases, log }: { leases: Pick<LeaseStore, 'renewLease'>; log: Log },
  lease: Lease,
  leaseMs: number,
  stop: AbortSignal,
): KeptLease {
  const controller = new AbortController();
  let overtaken = false;
  const abort = () => controller.abort();
  const renew = async (): Promise<void> => {
    try {
      if (await leases.renewLease(lease, leaseMs)) return;
      overtaken = true;
      abort();
    } catch (error) {
      // The next time may go well; if not, every write of the pass is conditional on the lease.
      log.warn('lease not renewed', { id: lease.id, error });
    }
  };
  const timer = setInterval(() => void renew(), leaseMs / 3).unref();
  stop.addEventListener('abort', abort, { once: true });
  if (stop.aborted) abort();
  return {
    signal: controller.signal,
    isOvertaken: () => overtaken,
    // The process's signal lives long: listeners that stay would add up.
    end() {
      clearInterval(timer);
      stop.removeEventListener('abort', abort);
    },
  };
}
