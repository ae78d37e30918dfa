import {
  type DriftReporter,
  type DueEntry,
  type DueRecheck,
  parseStoredWrite,
  type SettlementStore,
  showsEffect,
  UnusableRrset,
  type ZoneSyncStore,
} from '@corral/dns-mirror';
import { UpstreamUnavailable } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { Stopped } from '../loop/unless-stopped.js';
import type { DnsMetrics } from './dns-metrics.js';
import { type ReadRrset, type RrsetSource, upstreamReader } from './upstream-reader.js';

export interface SettleDeps {
  readonly settlements: SettlementStore;
  readonly mirror: Pick<ZoneSyncStore, 'readClock' | 'isContested' | 'observe'>;
  readonly source: RrsetSource;
  readonly metrics: DnsMetrics;
  readonly log: Log;
  readonly reportDrift: DriftReporter;
  /** For so long after an accepted write a read may not show it yet; after it comes the second look. */
  readonly graceMs: number;
  /** For so long nobody else takes an entry over: longer than its read lasts. */
  readonly leaseMs: number;
}

export interface SettleResult {
  readonly settled: number;
  readonly rechecked: number;
  /** `away`: the upstream gives no answers; what is left is due again. */
  readonly end: 'done' | 'away' | 'stopped';
}

/** What became of one entry. `left`: it is due again later. */
type Step = 'ended' | 'left' | 'away' | 'stopped';

/** What could not be read is due again after this, or when the upstream says that it has budget again. */
const RETRY_MS = 10_000;
const RETRY_MS_MAX = 300_000;
/** A second look that a later write to the set forbids for now: finding out costs no upstream call. */
const CONTESTED_MS = 1_000;

/**
 * One pass: finds out what became of writes whose outcome nobody knows, by reading their record sets, and takes the
 * second looks that are due. Entries are taken one by one: so the lease covers one read, and when the upstream is away
 * one entry pays for finding out. A crash at any point leaves the entry to whoever comes after its lease.
 */
export const settleWrites =
  (deps: SettleDeps) =>
  async (signal: AbortSignal): Promise<SettleResult> => {
    const { settlements, leaseMs } = deps;
    const read = upstreamReader(deps.source, signal);
    const writes = await workOff(
      () => settlements.claimPending(1, leaseMs),
      (due) => settleEntry(deps, read, due),
    );
    if (writes.end !== 'done') return { settled: writes.ended, rechecked: 0, end: writes.end };
    const rechecks = await workOff(
      () => settlements.claimRechecks(1, RETRY_MS),
      (due) => recheckEntry(deps, read, due),
    );
    return { settled: writes.ended, rechecked: rechecks.ended, end: rechecks.end };
  };

async function workOff<T>(claim: () => Promise<T[]>, work: (due: T) => Promise<Step>) {
  let ended = 0;
  for (;;) {
    const [due] = await claim();
    if (due === undefined) return { ended, end: 'done' as const };
    const step = await work(due);
    if (step === 'away' || step === 'stopped') return { ended, end: step };
    if (step === 'ended') ended += 1;
  }
}

async function settleEntry(deps: SettleDeps, read: ReadRrset, due: DueEntry): Promise<Step> {
  const { settlements, metrics, log, graceMs } = deps;
  const { entryId, operation, key } = due;
  try {
    const found = await read(key, 'settle');
    const write = parseStoredWrite(operation, due.requestBody);
    const applied = write !== null && showsEffect(found, write);
    const isOurs = await settlements.settle(due, { found, applied, recheckAfterMs: graceMs });
    const outcome = !isOurs ? 'overtaken' : applied ? 'applied' : 'not_applied';
    metrics.settlements.inc({ outcome });
    log.info('write settled', { entryId, operation, outcome, present: found !== null });
    return 'ended';
  } catch (error) {
    const step = judgeFailure(error);
    await settlements.postpone(due, step === 'stopped' ? 0 : retryMsAfter(error));
    if (step === 'stopped') return step;
    metrics.settlements.inc({ outcome: step === 'away' ? 'away' : 'failed' });
    log.error('write not settled', { entryId, operation, error });
    return step;
  }
}

async function recheckEntry(deps: SettleDeps, read: ReadRrset, due: DueRecheck): Promise<Step> {
  const { settlements, mirror, metrics, log, reportDrift, graceMs } = deps;
  const { entryId, key } = due;
  try {
    const readAt = await mirror.readClock();
    if (await mirror.isContested(key, readAt, graceMs)) {
      await settlements.deferRecheck(due, CONTESTED_MS);
      return 'left';
    }
    const found = await read(key, 'recheck');
    const observation = await mirror.observe({ key, found, readAt }, { graceMs, purpose: 'sync' });
    reportDrift(observation);
    const outcome = observation.result;
    metrics.rechecks.inc({ outcome });
    if (outcome === 'skipped') return 'left';
    await settlements.dropRecheck(due);
    log.info('write looked at again', { entryId, outcome });
    return 'ended';
  } catch (error) {
    const step = judgeFailure(error);
    if (step === 'stopped') return step;
    metrics.rechecks.inc({ outcome: step === 'away' ? 'away' : 'failed' });
    log.error('write not looked at again', { entryId, error });
    return step;
  }
}

/** @throws the error itself when it says that our own database is the trouble, or a mistake of ours */
function judgeFailure(error: unknown): Exclude<Step, 'ended'> {
  if (error instanceof Stopped) return 'stopped';
  if (error instanceof UpstreamUnavailable) return 'away';
  if (error instanceof UnusableRrset) return 'left';
  throw error;
}

function retryMsAfter(error: unknown): number {
  const seconds = error instanceof UpstreamUnavailable ? (error.retryAfterSeconds ?? 0) : 0;
  return Math.min(RETRY_MS_MAX, Math.max(RETRY_MS, seconds * 1_000));
}
