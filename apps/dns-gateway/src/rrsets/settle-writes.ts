import type { RequestScope } from '@corral/admission';
import {
  type RrsetKey,
  type RrsetWrite,
  SETTLE_LEASE_MS,
  type SettledOutcome,
  settleWrite,
  type WriteLease,
} from '@corral/dns-data';
import { answerWithin } from '@corral/service';
import type { Services } from '../services.js';

/** A write that was sent and whose outcome is unknown. */
export interface UnknownWrite {
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly bytes: Buffer | null;
  readonly scope: RequestScope;
}

/** Delay between two reads of a set, and until an unreadable one is due again. */
const RETRY_MS = 500;

const settleDeps = ({ settlements, read, config }: Services) => ({ settlements, read, graceMs: config.settleGraceMs });

/**
 * Determines the outcome of a write of this process.
 *
 * @returns null when the upstream stays unavailable, or the client has disconnected
 */
export async function settleOwn(
  services: Services,
  { key, write, bytes, scope }: UnknownWrite,
  { entryId, fence, owner }: WriteLease,
): Promise<SettledOutcome | null> {
  const { settlements, now, pause, log, config } = services;
  const requestBody = bytes === null ? null : bytes.toString('utf8');
  const due = { entryId, fence, owner, key, operation: write.operation, requestBody };
  await pause(config.settleAfterMs);
  for (const until = now() + config.settleWithinMs; now() < until && !scope.signal.aborted; ) {
    try {
      const settled = await answerWithin(settleWrite(settleDeps(services), due), until - now(), 'late' as const);
      if (settled === 'late') return null;
      const outcome = settled ?? (await settlements.findSettled(entryId));
      if (outcome !== null) return outcome;
    } catch (error) {
      log.warn('write not settled', { error });
    }
    await pause(RETRY_MS);
  }
  return null;
}

/**
 * Settles the pending write that blocks another one to its set, and whose holder is gone. Never fails: what cannot be settled
 * now is due again later.
 */
export async function settleDue(services: Services, key: RrsetKey, waitMs: number): Promise<void> {
  const { settlements, log } = services;
  const notSettled = (error: unknown) => log.warn('write not settled', { error });
  try {
    const due = await settlements.takePendingOf(key, SETTLE_LEASE_MS);
    if (due === null) return;
    const settle = settleWrite(settleDeps(services), due).catch(async (error: unknown) => {
      notSettled(error);
      await settlements.postpone(due, RETRY_MS);
    });
    await answerWithin(settle, waitMs, undefined);
  } catch (error) {
    notSettled(error);
  }
}

/** Maximum wait of an answer for a second look, which continues afterwards. */
const LOOK_MS_MAX = 1_000;

/**
 * Reads a set again when the upstream's answer to a write shows a change by others, so that the team sees the actual state once
 * it has that answer. If this fails, the reconciler reads it later, because the entry stays due for a recheck. Never fails.
 */
export async function lookAgain(services: Services, entryId: number, key: RrsetKey): Promise<void> {
  const looked = look(services, entryId, key).catch((error: unknown) =>
    services.log.warn('record set not read again', { error }),
  );
  await answerWithin(looked, LOOK_MS_MAX, undefined);
}

/** Timestamps have a resolution of one millisecond: the read must start in a later one than the write ended in. */
const CLOCK_STEP_MS = 2;

async function look(services: Services, entryId: number, key: RrsetKey): Promise<void> {
  const { sync, settlements, reportDrift, config } = services;
  const graceMs = config.settleGraceMs;
  await services.pause(CLOCK_STEP_MS);
  const readAt = await sync.readClock();
  if (await sync.isContested(key, readAt, graceMs)) return;
  const found = await services.read(key, 'recheck');
  const observation = await sync.observe({ key, found, readAt }, { graceMs, purpose: 'sync' });
  reportDrift(observation);
  if (observation.result !== 'skipped') await settlements.forgetRecheck(entryId);
}
